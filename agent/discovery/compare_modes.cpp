// What differs within the node although one would think it alike: partition modes of boards, processors, xnack modes.
#include "discovery/compare_parts.hpp"

#include <array>
#include <fmt/format.h>
#include <map>

namespace amd_gpu {
namespace {

using severity = finding::severity;

/// How many partitions a board has in a mode (Linux amdgpu_xcp.h, the modes' names); those of CPX depend on the board.
constexpr std::array<std::pair<std::string_view, std::size_t>, 4> partitions_in = {
    {{"SPX", 1}, {"DPX", 2}, {"TPX", 3}, {"QPX", 4}}};

struct board {
    pci_address bdf;
    std::string mode; ///< "CPX/NPS4"; what is unknown is "?"
    bool readable = false;
    std::optional<std::string> compute;
    std::size_t partitions = 0; ///< in KFD
};

/// The boards of every product that are in use, in PCI order.
std::map<std::optional<uint32_t>, std::vector<board>> boards_of(const std::vector<gcd>& gcds) {
    std::map<std::optional<uint32_t>, std::vector<board>> products;
    for (const auto& g : gcds) {
        if (!g.bound || !g.kfd_node)
            continue;
        auto& boards = products[g.pci_device];
        if (boards.empty() || boards.back().bdf != g.bdf) {
            boards.push_back({g.bdf, g.compute_partition.value_or("?") + "/" + g.memory_partition.value_or("?"),
                              g.compute_partition || g.memory_partition, g.compute_partition, 0});
        }
        ++boards.back().partitions;
    }
    return products;
}

/// "CPX/NPS4: 0000:0c:00.0 0000:22:00.0; SPX/NPS1: 0000:9f:00.0"
std::string groups_text(const std::map<std::string, addresses>& groups) {
    std::string text;
    for (const auto& [name, members] : groups)
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name, text_of(members));
    return text;
}

void look_at_counts(const std::vector<board>& boards, std::vector<finding>& findings) {
    std::size_t most = 0; // of boards in CPX: nothing else says how many they have
    for (const auto& b : boards)
        most = b.compute == "CPX" ? std::max(most, b.partitions) : most;
    for (const auto& b : boards) {
        const auto known = std::find_if(partitions_in.begin(), partitions_in.end(),
                                        [&](const auto& entry) { return entry.first == b.compute; });
        const auto wanted = known != partitions_in.end() ? known->second : b.compute == "CPX" ? most : b.partitions;
        if (b.partitions == wanted)
            continue;
        findings.push_back(about(severity::warning, "partitions", {b.bdf},
                                 fmt::format("{} is in mode {}, which is {} partition{}, but KFD has {}; restart the "
                                             "driver when no job uses the node",
                                             b.bdf.text(), *b.compute, wanted, wanted == 1 ? "" : "s", b.partitions)));
    }
}

} // namespace

void look_at_partitions(const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    for (const auto& [product, boards] : boards_of(gcds)) {
        std::map<std::string, addresses> modes;
        bool any_readable = false;
        for (const auto& b : boards) {
            any_readable |= b.readable;
            if (b.readable)
                modes[b.mode].push_back(b.bdf);
        }
        if (modes.size() > 1) {
            findings.push_back({severity::warning, "partitions", std::nullopt,
                                fmt::format("boards of one product in different partition modes: {}; set all to one "
                                            "mode when no job uses the node",
                                            groups_text(modes))});
        }
        // A board without partitions among others without says nothing: its driver may not know the modes at all.
        const auto unreadable =
            functions_of(boards, [&](const board& b) { return !b.readable && (any_readable || b.partitions > 1); });
        if (!unreadable.empty()) {
            findings.push_back(about(severity::warning, "partitions", unreadable,
                                     "partition mode unknown, the driver gives none that exists: " +
                                         text_of(unreadable) + "; restart the driver when no job uses the node"));
        }
        look_at_counts(boards, findings);
    }
}

void look_at_targets(const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    std::map<std::string, addresses> targets;
    std::map<std::string, std::map<std::string, addresses>> xnack_modes; // of each target
    std::vector<gcd_id> nameless;
    addresses nameless_functions;
    for (const auto& g : gcds) {
        if (!g.bound)
            continue;
        if (!g.target) {
            nameless.push_back(g.id());
            nameless_functions.push_back(g.bdf);
            continue;
        }
        const auto add = [&](addresses& to) {
            if (to.empty() || to.back() != g.bdf)
                to.push_back(g.bdf);
        };
        add(targets[g.target->text()]);
        if (g.xnack)
            add(xnack_modes[g.target->text()][*g.xnack ? "xnack+" : "xnack-"]);
    }
    if (!nameless.empty()) {
        findings.push_back(about(severity::warning, "target", nameless_functions,
                                 "KFD names no processor that is known (gfx_target_version): " + text_of(nameless) +
                                     "; no software can be chosen for it"));
    }
    if (targets.size() > 1) {
        findings.push_back({severity::note, "targets", std::nullopt,
                            fmt::format("{} targets on this node, a job that spans them needs software for each: {}",
                                        targets.size(), groups_text(targets))});
    }
    for (const auto& [target, modes] : xnack_modes) {
        if (modes.size() > 1) {
            findings.push_back(
                {severity::warning, "xnack", std::nullopt,
                 fmt::format("GCDs of target {} differ in their xnack mode: {}", target, groups_text(modes))});
        }
    }
}

} // namespace amd_gpu
