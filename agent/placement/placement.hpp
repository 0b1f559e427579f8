// Which rank of a node gets which GCDs and which CPUs. Pure: the same facts give the same table in every task, so that
// the ranks of a node agree without a word between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace amd_gpu {

using cpu_list = std::vector<uint32_t>; ///< hardware threads by Linux CPU number

/// `cpus` but for the `reserved` ones, in their order.
cpu_list without(const cpu_list& cpus, const cpu_list& reserved);

/// What the map is made from.
struct placement_facts {
    /// The hardware threads of each GCD's closest L3, one entry a GCD; empty where that is not known.
    std::vector<cpu_list> closest;
    uint32_t ranks = 1;
    /// Where Slurm put each rank, ascending; empty when it did not say.
    std::vector<cpu_list> bound;
    cpu_list usable; ///< the CPUs that the ranks may use, ascending
    /// The core of a hardware thread, as any number that its siblings share. Without one each thread is a core.
    std::function<uint32_t(uint32_t cpu)> core_of = {};
};

/// One row of the map.
struct rank_place {
    std::vector<std::size_t> gcds; ///< positions in `closest`
    cpu_list cpus;                 ///< ascending; empty: nothing to bind to, and the remark says why
    std::string remark;            ///< what a user may want to know; often empty
};

/// The map, one row a rank.
///
/// GCDs stand in the order of their closest cores (4 5 2 3 6 7 0 1 on an MI250X node), and ranks get contiguous shares
/// of that order, as even as can be: with fewer ranks than GCDs several each, with more several ranks each. Where Slurm
/// has put every rank beside another share, the ranks stay there and the shares go to them; else rank 0 gets the first.
/// CPUs are those of the closest L3s that are usable; ranks whose GCDs share them divide them, a core with all its
/// threads to one rank while there are enough.
std::vector<rank_place> place_ranks(const placement_facts& facts);

/// The order in which `place_ranks` deals GCDs out.
std::vector<std::size_t> order_by_cores(const std::vector<cpu_list>& closest);

} // namespace amd_gpu
