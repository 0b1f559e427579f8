// Where Slurm put the ranks of a node, as it tells its tasks: SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST, with one
// entry for each task of the node (srun(1), --cpu-bind; Slurm's task/affinity writes masks there for automatic binding,
// too). Pure.
#pragma once

#include "placement/placement.hpp"

#include <string_view>

namespace amd_gpu {

/// The CPUs of each of `ranks` ranks. A list that is shorter begins again, as Slurm itself reads it. Empty when the
/// text binds nobody or is not understood.
std::vector<cpu_list> ranks_bound(std::string_view type, std::string_view list, uint32_t ranks);

} // namespace amd_gpu
