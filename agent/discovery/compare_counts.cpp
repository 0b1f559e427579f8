// How many GPUs there are: PCI counts boards' functions, KFD what programs can use (each partition), SMI the one or the
// other, depending on its version. Each is compared in the unit that both sides know.
#include "discovery/compare_parts.hpp"

#include <fmt/format.h>
#include <map>

namespace amd_gpu {
namespace {

using severity = finding::severity;

bool in_kfd(const observations& seen, const pci_address& bdf) {
    return std::any_of(seen.kfd.devices.begin(), seen.kfd.devices.end(),
                       [&](const kfd_device& d) { return d.bdf == bdf; });
}

/// "the driver amdgpu is not loaded for kernel 6.8.0-79", or what else is known of it.
std::string driver_text(const driver_state& driver) {
    const std::string kernel = driver.kernel.empty() ? "this kernel" : "kernel " + driver.kernel;
    if (!driver.loaded)
        return "whether the driver amdgpu is loaded for " + kernel + " is unknown";
    if (!*driver.loaded)
        return "the driver amdgpu is not loaded for " + kernel;
    return fmt::format("the driver amdgpu {} is loaded, but drives none of them", driver.text().value_or(""));
}

/// "; the kernel log has error -12 (Cannot allocate memory) for 0000:c1:00.0", grouped by error; "" without any.
std::string refusals_text(const observations& seen, const addresses& functions) {
    std::map<int, addresses> groups;
    for (const auto& bdf : functions) {
        if (const auto refusal = seen.refusals.find(bdf); refusal != seen.refusals.end())
            groups[refusal->second].push_back(bdf);
    }
    std::string text;
    for (const auto& [number, members] : groups) {
        text += fmt::format("{}{} for {}", text.empty() ? "; the kernel log has " : ", ", probe_error_text(number),
                            members.size() == functions.size() && members.size() > 1 ? "all" : text_of(members));
    }
    return text;
}

} // namespace

void compare_pci_with_kfd(const observations& seen, std::vector<finding>& findings) {
    const auto& functions = seen.pci.gpus;
    const auto absent = [&](const pci_gpu& f) { return !in_kfd(seen, f.bdf); };
    const auto unbound = functions_of(functions, [&](const pci_gpu& f) { return absent(f) && !f.driver; });
    const auto silent = functions_of(functions, [&](const pci_gpu& f) { return absent(f) && f.driver == "amdgpu"; });
    const auto given_away =
        functions_of(functions, [&](const pci_gpu& f) { return absent(f) && f.driver && f.driver != "amdgpu"; });

    if (!given_away.empty()) {
        findings.push_back(about(
            severity::warning, "driver", given_away,
            fmt::format("{} bound to another driver than amdgpu: {}", gpus(given_away.size()), text_of(given_away))));
    }
    addresses missing = unbound;
    missing.insert(missing.end(), silent.begin(), silent.end());
    if (missing.empty())
        return;
    if (seen.kfd.hidden > 0) {
        findings.push_back(
            {severity::note, "gpu_count", std::nullopt,
             fmt::format("{} hidden from this process by its device cgroup; run it outside a job to see them",
                         gpus(seen.kfd.hidden))});
        return;
    }
    // Nothing works: that is one reason for the node, not one for each GPU.
    if (missing.size() + given_away.size() == functions.size() && silent.empty()) {
        const bool no_driver = seen.driver.loaded == false;
        findings.push_back(
            {severity::fault, "driver", std::nullopt,
             fmt::format("{} on PCI, 0 bound: {}: {}{}; {}", gpus(functions.size()), driver_text(seen.driver),
                         text_of(unbound), refusals_text(seen, unbound),
                         no_driver ? "install the driver for this kernel and load it" : unbound_remedy)});
        return;
    }
    if (!seen.kfd.present) {
        findings.push_back({severity::fault, "driver", std::nullopt,
                            fmt::format("amdgpu is bound to {}, but it offers no KFD: {}; see the kernel log",
                                        gpus(silent.size()), text_of(silent))});
        return;
    }
    std::string why;
    if (!unbound.empty())
        why += fmt::format("; no driver bound: {}{}", text_of(unbound), refusals_text(seen, unbound));
    if (!silent.empty())
        why += fmt::format("; bound but unknown to KFD: {}", text_of(silent));
    findings.push_back(about(severity::fault, "gpu_count", missing,
                             fmt::format("{} on PCI, {} in KFD{}; {}", gpus(functions.size()),
                                         functions.size() - missing.size() - given_away.size(), why, unbound_remedy)));
}

void compare_kfd_with_pci(const observations& seen, std::vector<finding>& findings) {
    if (!seen.pci.readable) {
        findings.push_back({severity::warning, "pci", std::nullopt, "the PCI bus cannot be listed"});
        return;
    }
    const auto absent = functions_of(seen.kfd.devices, [&](const kfd_device& device) {
        return std::none_of(seen.pci.gpus.begin(), seen.pci.gpus.end(),
                            [&](const pci_gpu& f) { return f.bdf == device.bdf; });
    });
    if (absent.empty())
        return;
    findings.push_back(about(severity::warning, "gpu_count", absent, "in KFD but not on PCI: " + text_of(absent)));
}

namespace {

/// What a GPU is missing in SMI, which knows partitions or does not.
void compare_lists(const observations& seen, const smi_view& smi, const std::vector<gcd>& gcds,
                   std::vector<finding>& findings) {
    std::map<pci_address, std::pair<std::size_t, std::size_t>> boards; // in KFD, of these in SMI
    std::size_t in_kfd = 0;
    for (const auto& g : gcds) {
        if (!g.kfd_node)
            continue;
        ++in_kfd;
        ++boards[g.bdf].first;
        boards[g.bdf].second += g.smi_index ? 1 : 0;
    }
    const auto once = [](const auto& board) { return board.second.first > 1 && board.second.second == 1; };
    std::vector<gcd_id> unlisted;
    addresses functions;
    for (const auto& g : gcds) {
        if (!g.kfd_node || g.smi_index || once(*boards.find(g.bdf)))
            continue;
        unlisted.push_back(g.id());
        functions.push_back(g.bdf);
    }
    const auto counted = count_gpus(seen).smi.value_or(0);
    if (!unlisted.empty()) {
        findings.push_back(
            about(severity::warning, "gpu_count", functions,
                  fmt::format("{} in KFD, {} in SMI; not listed by SMI: {}; facts about {} come from KFD and PCI alone",
                              gpus(in_kfd), counted, text_of(unlisted), unlisted.size() == 1 ? "it" : "them")));
    }
    const auto shown_once = static_cast<std::size_t>(std::count_if(boards.begin(), boards.end(), once));
    if (shown_once > 0) {
        findings.push_back({severity::note, "smi", std::nullopt,
                            fmt::format("rocm_smi{}{} knows no partitions: it lists {} boards that KFD shows as {} "
                                        "partitions; none of them is missing",
                                        smi.version.empty() ? "" : " ", smi.version, shown_once, [&] {
                                            std::size_t partitions = 0;
                                            for (const auto& board : boards)
                                                partitions += once(board) ? board.second.first : 0;
                                            return partitions;
                                        }())});
    }
    const auto unknown = functions_of(smi.devices, [&](const smi_device& device) {
        const pci_address board{device.bdf.domain, device.bdf.bus, device.bdf.device, 0};
        return !boards.contains(device.bdf) && !boards.contains(board) && !seen.integrated.contains(device.bdf);
    });
    if (!unknown.empty() && seen.kfd.hidden == 0) {
        findings.push_back(
            about(severity::warning, "gpu_count", unknown, "in SMI but not in KFD: " + text_of(unknown)));
    }
}

} // namespace

void compare_with_smi(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    if (!seen.smi)
        return;
    const auto& answer = *seen.smi;
    if (!answer) {
        // Without the driver the library cannot start: that is said once, by the driver's own finding.
        if (!seen.kfd.present)
            return;
        const bool absent = answer.failure().code == error_code::not_found;
        std::string text = answer.failure().what + "; what PCI and KFD tell is whole, what only SMI knows is unknown";
        if (!absent && !seen.smi_locks.empty()) {
            text += fmt::format("; rocm_smi's locks, which a process that died may have left: {}",
                                fmt::join(seen.smi_locks, " "));
        }
        findings.push_back({absent ? severity::note : severity::warning, "smi", std::nullopt, std::move(text)});
        return;
    }
    compare_lists(seen, *answer, gcds, findings);

    const auto renamed = functions_of(gcds, [&](const gcd& g) {
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

} // namespace amd_gpu
