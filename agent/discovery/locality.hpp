// Where GPUs sit among the host's memories and cores, from hwloc without its GPU back ends: they would load SMI and
// OpenCL libraries into this process. Nothing is inferred from measured speed, and a contradiction leaves the place
// unknown.
#pragma once

#include "node/node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// A GCD whose place is asked for.
struct locality_query {
    pci_address bdf;
    std::optional<uint32_t> numa; ///< what its PCI function says
};

struct locality_place {
    std::optional<uint32_t> numa;
    std::vector<uint32_t> cores; ///< hardware threads of its closest L3 caches, ascending; empty is unknown
};

struct locality_view {
    std::vector<locality_place> places; ///< one for each query, in their order
    std::vector<std::string> problems;  ///< contradictions, in words
    std::string version;                ///< of hwloc
};

/// Asks hwloc. Queries come in the order of PCI addresses and name every GCD of the node, bound or not: the L3 caches
/// of a NUMA node are shared out among its GCDs in that order, and a GCD that is away must not move the others. `xml`
/// is a topology to read instead of this machine's (hwloc's own format). Error: hwloc cannot load it.
result<locality_view> read_locality(const std::vector<locality_query>& queries, const std::string& xml = {});

/// Shares caches out among `members` GCDs: each gets a run of them, in order; when there are fewer caches than members,
/// neighbours share one. The answer for a member is the ascending list of its hardware threads.
std::vector<std::vector<uint32_t>> share_caches(const std::vector<std::vector<uint32_t>>& caches, std::size_t members);

} // namespace amd_gpu
