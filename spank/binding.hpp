// Binding a task to the cores beside its GCDs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace amd_gpu {

/// Binds the calling process to those of `closest` (Linux CPU numbers) that its step may use: the step's cpuset where
/// Slurm constrains cores, else the cores that Slurm gave the task. Gives what should be said of it, empty when it
/// worked; a process that cannot be bound is left as it was.
std::string bind_closest(const std::vector<uint32_t>& closest);

} // namespace amd_gpu
