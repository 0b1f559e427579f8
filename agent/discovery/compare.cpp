#include "discovery/compare.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace amd_gpu {
namespace {

using severity = finding::severity;
using addresses = std::vector<pci_address>;

std::string text_of(const addresses& list) {
    std::string text;
    for (const auto& bdf : list)
        text += (text.empty() ? "" : " ") + bdf.text();
    return text;
}

/// "1 GPU", "8 GPUs"
std::string gpus(std::size_t count) {
    return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

/// A finding about some devices; it carries the address when there is just one.
finding about(severity level, const char* check, const addresses& devices, std::string text) {
    return {level, check, devices.size() == 1 ? std::optional(devices.front()) : std::nullopt, std::move(text)};
}

template<typename Devices, typename Predicate>
addresses select(const Devices& devices, Predicate wanted) {
    addresses chosen;
    for (const auto& device : devices) {
        if (wanted(device))
            chosen.push_back(device.bdf);
    }
    return chosen;
}

bool in_kfd(const observations& seen, const pci_address& bdf) {
    return std::any_of(seen.kfd.devices.begin(), seen.kfd.devices.end(),
                       [&](const kfd_device& d) { return d.bdf == bdf; });
}

/// The bus against the driver: the one comparison that proves a GPU to be missing.
void compare_pci_with_kfd(const observations& seen, std::vector<finding>& findings) {
    const auto& functions = seen.pci.gpus;
    const auto missing = select(functions, [&](const pci_gpu& f) { return !in_kfd(seen, f.bdf); });
    const auto unbound = select(functions, [&](const pci_gpu& f) { return !in_kfd(seen, f.bdf) && !f.driver; });
    const auto silent =
        select(functions, [&](const pci_gpu& f) { return !in_kfd(seen, f.bdf) && f.driver == "amdgpu"; });
    const auto given_away =
        select(functions, [&](const pci_gpu& f) { return !in_kfd(seen, f.bdf) && f.driver && f.driver != "amdgpu"; });

    if (!given_away.empty()) {
        findings.push_back(about(
            severity::warning, "driver", given_away,
            fmt::format("{} bound to another driver than amdgpu: {}", gpus(given_away.size()), text_of(given_away))));
    }
    if (missing.size() == given_away.size())
        return;
    if (seen.kfd.hidden > 0) {
        findings.push_back(
            {severity::note, "gpu_count", std::nullopt,
             fmt::format("{} hidden from this process by its device cgroup; run it outside a job to see them",
                         gpus(seen.kfd.hidden))});
        return;
    }
    if (!seen.kfd.present) {
        const bool loaded = !silent.empty();
        findings.push_back(
            {severity::fault, "driver", std::nullopt,
             loaded
                 ? fmt::format("amdgpu is bound to {}, but it offers no KFD: {}", gpus(silent.size()), text_of(silent))
                 : fmt::format("{} on PCI, none bound: the driver amdgpu is not loaded for kernel {}: {}",
                               gpus(functions.size()), seen.kernel, text_of(unbound))});
        return;
    }
    std::string why;
    if (!unbound.empty())
        why += fmt::format("; no driver bound: {}", text_of(unbound));
    if (!silent.empty())
        why += fmt::format("; bound but unknown to KFD: {}", text_of(silent));
    addresses all = unbound;
    all.insert(all.end(), silent.begin(), silent.end());
    findings.push_back(
        about(severity::fault, "gpu_count", all,
              fmt::format("{} on PCI, {} in KFD{}", gpus(functions.size()), functions.size() - missing.size(), why)));
}

void compare_kfd_with_pci(const observations& seen, std::vector<finding>& findings) {
    if (!seen.pci.readable) {
        findings.push_back({severity::warning, "pci", std::nullopt, "the PCI bus cannot be listed"});
        return;
    }
    const auto absent = select(seen.kfd.devices, [&](const kfd_device& device) {
        return std::none_of(seen.pci.gpus.begin(), seen.pci.gpus.end(),
                            [&](const pci_gpu& f) { return f.bdf == device.bdf; });
    });
    if (absent.empty())
        return;
    findings.push_back(about(severity::warning, "gpu_count", absent, "in KFD but not on PCI: " + text_of(absent)));
}

void compare_with_smi(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    if (!seen.smi)
        return;
    const auto& answer = *seen.smi;
    if (!answer) {
        // Without the driver the library cannot start: that is said once, by the driver's own finding.
        if (!seen.kfd.present)
            return;
        const bool absent = answer.failure().code == error_code::not_found;
        findings.push_back({absent ? severity::note : severity::warning, "smi", std::nullopt, answer.failure().what});
        return;
    }
    const auto unlisted = select(gcds, [](const gcd& g) { return g.kfd_node && !g.smi_index; });
    if (!unlisted.empty()) {
        findings.push_back(
            about(severity::warning, "gpu_count", unlisted,
                  fmt::format("{} in KFD, {} in SMI; not listed by SMI: {}", gpus(seen.kfd.devices.size()),
                              count_gpus(seen).smi.value_or(0), text_of(unlisted))));
    }
    const auto renamed = select(gcds, [&](const gcd& g) {
        const auto& devices = answer->devices;
        const auto device =
            std::find_if(devices.begin(), devices.end(), [&](const smi_device& d) { return d.index == g.smi_index; });
        // Partitions share the die's id in one source and have their own in another.
        return !g.partition && device != devices.end() && device->unique_id && g.unique_id &&
               device->unique_id != g.unique_id;
    });
    if (!renamed.empty()) {
        findings.push_back(about(severity::warning, "identity", renamed,
                                 "SMI and the kernel give different unique ids: " + text_of(renamed)));
    }
}

void compare_with_expected(const observations& seen, const std::vector<gcd>& gcds, std::optional<uint32_t> expected,
                           std::vector<finding>& findings) {
    if (!expected || seen.kfd.hidden > 0)
        return;
    const auto usable =
        static_cast<uint32_t>(std::count_if(gcds.begin(), gcds.end(), [](const gcd& g) { return g.bound; }));
    if (usable == *expected)
        return;
    findings.push_back({usable < *expected ? severity::fault : severity::warning, "expected_gcds", std::nullopt,
                        fmt::format("{} usable GCDs, the configuration expects {}", usable, *expected)});
}

void look_at_facts(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    for (const auto& problem : seen.kfd.problems)
        findings.push_back({severity::warning, "kfd", std::nullopt, problem});

    const auto nameless = select(gcds, [](const gcd& g) { return g.bound && !g.target; });
    if (!nameless.empty()) {
        findings.push_back(about(severity::warning, "target", nameless,
                                 "KFD names no processor that is known (gfx_target_version): " + text_of(nameless)));
    }
    if (!seen.locality)
        return;
    if (!*seen.locality) {
        findings.push_back({severity::warning, "locality", std::nullopt, seen.locality->failure().what});
        return;
    }
    for (const auto& problem : (*seen.locality)->problems) {
        findings.push_back({severity::warning, "locality", std::nullopt, problem});
    }
    const auto placeless = select(gcds, [](const gcd& g) { return g.bound && g.cores.empty(); });
    if (!placeless.empty() && (*seen.locality)->problems.empty()) {
        findings.push_back(
            about(severity::warning, "locality", placeless,
                  "the firmware names no NUMA node, so no core is known to be close: " + text_of(placeless)));
    }
}

/// Links that must be there whatever the board: both ways if one way, and between the dies of one package.
void look_at_links(const node& found, std::vector<finding>& findings) {
    for (const auto& l : found.links) {
        if (l.type != "xgmi" || find_link(found, l.to, l.from) != nullptr)
            continue;
        findings.push_back({severity::warning, "links", found.gcds[l.from].bdf,
                            fmt::format("{} has a link to {}, but not the other way", found.gcds[l.from].bdf.text(),
                                        found.gcds[l.to].bdf.text())});
    }
    for (const auto& a : found.gcds) {
        for (const auto& b : found.gcds) {
            const bool one_package = a.index < b.index && a.package && a.package == b.package && a.bdf != b.bdf;
            if (!one_package || !a.kfd_node || !b.kfd_node || find_link(found, a.index, b.index) != nullptr ||
                find_link(found, b.index, a.index) != nullptr) {
                continue;
            }
            findings.push_back({severity::warning, "links", a.bdf,
                                fmt::format("{} and {} are dies of one package without a link between them",
                                            a.bdf.text(), b.bdf.text())});
        }
    }
}

} // namespace

source_counts count_gpus(const observations& seen) {
    source_counts counts;
    if (seen.pci.readable)
        counts.pci = static_cast<uint32_t>(seen.pci.gpus.size());
    if (seen.kfd.present)
        counts.kfd = static_cast<uint32_t>(seen.kfd.devices.size());
    if (seen.smi && *seen.smi) {
        const auto& devices = (*seen.smi)->devices;
        counts.smi = static_cast<uint32_t>(std::count_if(devices.begin(), devices.end(), [&](const smi_device& device) {
            return !seen.integrated.contains(device.bdf);
        }));
    }
    return counts;
}

std::vector<finding> compare(const observations& seen, const node& found, std::optional<uint32_t> expected) {
    const auto& gcds = found.gcds;
    std::vector<finding> findings;
    compare_pci_with_kfd(seen, findings);
    compare_kfd_with_pci(seen, findings);
    compare_with_smi(seen, gcds, findings);
    compare_with_expected(seen, gcds, expected, findings);
    look_at_facts(seen, gcds, findings);
    look_at_links(found, findings);
    for (const auto& bdf : seen.integrated) {
        findings.push_back(
            {severity::note, "integrated", bdf, bdf.text() + " is the graphics unit of a processor and is left out"});
    }
    std::vector<finding> faults_first;
    for (const auto level : {severity::fault, severity::warning, severity::note}) {
        std::copy_if(findings.begin(), findings.end(), std::back_inserter(faults_first),
                     [&](const finding& f) { return f.level == level; });
    }
    return faults_first;
}

std::vector<pci_address> clear_shared_ids(std::vector<gcd>& gcds) {
    std::map<uint64_t, int> carriers;
    for (const auto& g : gcds) {
        if (g.unique_id)
            ++carriers[*g.unique_id];
    }
    addresses cleared;
    for (auto& g : gcds) {
        if (!g.unique_id || carriers[*g.unique_id] == 1)
            continue;
        cleared.push_back(g.bdf);
        g.unique_id.reset();
        g.sources.erase("unique_id");
    }
    return cleared;
}

} // namespace amd_gpu
