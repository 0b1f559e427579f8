#include "discovery/compare.hpp"

#include "discovery/compare_parts.hpp"

#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

namespace amd_gpu {
namespace {

using severity = finding::severity;

void look_at_identity(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    const auto guests = functions_of(gcds, [](const gcd& g) { return g.kind == gpu_kind::virtual_function; });
    if (!guests.empty()) {
        findings.push_back(
            about(severity::note, "virtual_function", guests,
                  fmt::format("unique id, power cap, error and link counters of a virtual function belong to "
                              "the host and are not judged here: {}",
                              text_of(guests))));
    }
    const auto without = functions_of(gcds, [](const gcd& g) {
        return g.bound && !g.unique_id && !g.partition && g.kind != gpu_kind::virtual_function;
    });
    if (!without.empty()) {
        findings.push_back(about(severity::note, "identity", without,
                                 fmt::format("the driver gives no unique id for {}, known by PCI address alone: {}",
                                             gpus(without.size()), text_of(without))));
    }
    for (const auto& bdf : seen.integrated) {
        findings.push_back({severity::note, "integrated", bdf,
                            bdf.text() + " is the graphics unit of a processor, left out: no job gets it"});
    }
}

void look_at_places(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    if (!seen.locality)
        return;
    if (!*seen.locality) {
        findings.push_back({severity::warning, "locality", std::nullopt, seen.locality->failure().what});
        return;
    }
    // Partitions of one function each have the same to say.
    const auto& all = (*seen.locality)->problems;
    for (const auto& problem : std::set<std::string>(all.begin(), all.end()))
        findings.push_back({severity::warning, "locality", std::nullopt, problem});

    const auto unnamed = [&](const gcd& g) {
        return std::any_of(seen.pci.gpus.begin(), seen.pci.gpus.end(),
                           [&](const pci_gpu& f) { return f.bdf == g.bdf && !f.numa; });
    };
    const auto placeless = functions_of(gcds, [&](const gcd& g) { return g.bound && g.cores.empty() && unnamed(g); });
    if (!placeless.empty()) {
        findings.push_back(about(severity::warning, "locality", placeless,
                                 "the firmware names no NUMA node, so no core is known to be close and no task is "
                                 "bound: " +
                                     text_of(placeless)));
    }
    const auto lost = functions_of(gcds, [&](const gcd& g) { return g.bound && g.cores.empty() && !unnamed(g); });
    if (!lost.empty() && all.empty()) {
        findings.push_back(about(severity::warning, "locality", lost,
                                 "no core is known to be close, so no task is bound: " + text_of(lost)));
    }
}

} // namespace

std::string gpus(std::size_t count) {
    return fmt::format("{} GPU{}", count, count == 1 ? "" : "s");
}

std::string text_of(const addresses& list) {
    std::string text;
    for (const auto& bdf : list)
        text += (text.empty() ? "" : " ") + bdf.text();
    return text;
}

std::string text_of(const std::vector<gcd_id>& list) {
    std::string text;
    for (const auto& id : list)
        text += (text.empty() ? "" : " ") + id.text();
    return text;
}

finding about(severity level, const char* check, const addresses& devices, std::string text) {
    return {level, check, devices.size() == 1 ? std::optional(devices.front()) : std::nullopt, std::move(text)};
}

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
    std::vector<finding> findings = found.findings;
    compare_pci_with_kfd(seen, findings);
    compare_kfd_with_pci(seen, findings);
    compare_with_smi(seen, gcds, findings);
    compare_with_expected(seen, gcds, expected, findings);
    for (const auto& problem : seen.kfd.problems)
        findings.push_back({severity::warning, "kfd", std::nullopt, problem});
    look_at_targets(gcds, findings);
    look_at_partitions(gcds, findings);
    look_at_places(seen, gcds, findings);
    look_at_links(found, findings);
    look_at_pcie(gcds, findings);
    look_at_identity(seen, gcds, findings);

    std::vector<finding> faults_first;
    for (const auto level : {severity::fault, severity::warning, severity::note}) {
        std::copy_if(findings.begin(), findings.end(), std::back_inserter(faults_first),
                     [&](const finding& f) { return f.level == level; });
    }
    return faults_first;
}

std::vector<finding> clear_shared_ids(std::vector<gcd>& gcds) {
    std::map<uint64_t, addresses> carriers; // an address for each GCD, so a function may be in it several times
    for (const auto& g : gcds) {
        if (g.unique_id)
            carriers[*g.unique_id].push_back(g.bdf);
    }
    for (auto& g : gcds) {
        if (!g.unique_id || carriers[*g.unique_id].size() == 1)
            continue;
        g.unique_id.reset();
        g.sources.erase("unique_id");
    }
    std::vector<finding> findings;
    for (const auto& [id, functions] : carriers) {
        // Older drivers give all partitions the id of their board: no contradiction, and no identity either.
        const std::set<pci_address> distinct(functions.begin(), functions.end());
        if (distinct.size() == 1)
            continue;
        findings.push_back({severity::warning, "identity", std::nullopt,
                            fmt::format("the unique id {:016x} is that of several GPUs, which are known by PCI address "
                                        "alone: {}",
                                        id, text_of(addresses(distinct.begin(), distinct.end())))});
    }
    return findings;
}

} // namespace amd_gpu
