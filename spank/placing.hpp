// The map of a node's ranks, made in each task for all of them, and the task's own row of it.
#pragma once

#include "placement/placement.hpp"
#include "service/exchange.hpp"
#include "spank/spank_api.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// Where a task stands among the tasks of its step on this node.
struct task_place {
    uint32_t local_id = 0;
    uint32_t tasks = 1;
};
task_place place_of(spank_t spank);

/// What the map of a task is made from.
struct placing {
    std::vector<granted_gcd> gcds; ///< that the ranks of this node share; with a fence of its own, the task's
    task_place place;
    bool alone = false; ///< the task has a device cgroup of its own, and knows nothing of the others'
    bool binds = false; ///< tasks are to be bound
};

/// One row a rank of the node; a task with a fence of its own gets one row. Where tasks are not bound by us, the CPUs
/// of a row are those on which Slurm put the rank.
std::vector<rank_place> place_tasks(spank_t spank, const placing& what);

/// The map as a table for the user, with the ranks by their numbers in the step.
std::vector<std::string> map_text(spank_t spank, const std::string& node, const placing& what,
                                  const std::vector<rank_place>& rows);

} // namespace amd_gpu
