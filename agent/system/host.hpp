// What this host is called.
#pragma once

#include <string>

namespace amd_gpu {

/// The host's name; empty when the kernel does not tell.
std::string host_name();

/// What Slurm calls this node: in slurmstepd and in a job it says so, elsewhere it is the host's name without the
/// domain.
std::string slurm_node_name();

} // namespace amd_gpu
