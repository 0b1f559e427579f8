// The lines of gres.conf and slurm.conf that describe a node's GPUs to Slurm. Pure.
#pragma once

#include "node/node.hpp"
#include "result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace amd_gpu {

/// A core as Slurm counts them: its place in the list is the number that gres.conf means by Cores= (hwloc's logical
/// index; gres.conf(5), "Cores").
struct slurm_core {
    uint32_t package = 0;       ///< the processor that it is in
    std::vector<uint32_t> cpus; ///< its hardware threads, as Linux counts them
};

/// Lines for gres.conf, one a GPU in the order of the device files, and for slurm.conf, as comments; what had to be
/// left out is said in comments, too. GPUs of a NUMA node get all its cores and not only those of their own caches:
/// Slurm gives a job cores near its GPU, the task's place among them is not its business. `name` is Slurm's name of the
/// node. Error (unsupported): the facts are not enough for lines that Slurm would accept, and which are missing.
result<std::string> slurm_config(const node& what, const std::vector<slurm_core>& cores, const std::string& name);

/// This machine's cores. Error: hwloc cannot load its topology.
result<std::vector<slurm_core>> read_slurm_cores();

} // namespace amd_gpu
