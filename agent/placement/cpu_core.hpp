// Which hardware threads are one core, as the kernel says it.
#pragma once

#include <cstdint>

namespace amd_gpu {

/// The number that the hardware threads of one core share: that of its first thread, from
/// /sys/devices/system/cpu/cpuN/topology/thread_siblings_list; the thread's own where sysfs does not tell.
uint32_t core_of(uint32_t cpu);

} // namespace amd_gpu
