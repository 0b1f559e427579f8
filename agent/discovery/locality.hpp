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

/// The hardware threads of one L3 cache, or of a NUMA node that has none.
using cache_threads = std::vector<uint32_t>;

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
/// of a NUMA node are shared out among its PCI functions in that order, and a GCD that is away must not move the
/// others. What a function gets is shared out among its partitions, so that all of them sit where their board does,
/// whatever the modes of the boards beside it. `xml` is a topology to read instead of this machine's (hwloc's own
/// format). Error: hwloc cannot load it.
result<locality_view> read_locality(const std::vector<locality_query>& queries, const std::string& xml = {});

/// Shares caches out among `members` GCDs: each gets a run of them, in order. When there are fewer caches than members,
/// neighbours share one and each has the whole of it: how far a core is from a GCD does not depend on who else is near,
/// and whoever binds ranks splits the cores among those that it binds.
std::vector<std::vector<cache_threads>> share_caches(const std::vector<cache_threads>& caches, std::size_t members);

} // namespace amd_gpu
