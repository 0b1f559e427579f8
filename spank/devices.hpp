// Which GPUs a process may open: what the device cgroup of a step or task, and the file modes, let through.
#pragma once

#include "service/exchange.hpp"
#include "spank/task.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace amd_gpu {

/// N of every /dev/dri/renderD<N> that this process may open.
std::vector<uint32_t> open_render_minors();

/// Those that this process may open. One without a device node counts: a cgroup can deny nothing there.
std::vector<granted_gcd> openable(const std::vector<granted_gcd>& gcds);

/// Why none of these can be opened, and what to do.
std::string why_closed(const std::vector<granted_gcd>& gcds);

/// How this task's view of the node's devices compares with the job's.
device_fence fence_around(const std::vector<granted_gcd>& open);

} // namespace amd_gpu
