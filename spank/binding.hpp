// Which CPUs a task may run on, and binding it to some of them: the kernel's affinity of the calling process.
#pragma once

#include "placement/placement.hpp"

#include <optional>

namespace amd_gpu {

/// What the kernel says of this process.
struct own_cpus {
    cpu_list bound;      ///< where it may run now
    cpu_list cpuset;     ///< where it could bind itself to
    bool fenced = false; ///< its cpuset is less than the machine, and so the job's own
};

/// Asks the kernel; the affinity is as it was afterwards. Nothing when it does not tell.
std::optional<own_cpus> read_own_cpus();

/// Binds this process. False when the kernel refuses.
bool bind_to(const cpu_list& cpus);

} // namespace amd_gpu
