// Where the kernel's file systems are mounted. Every reader takes it, so that a test can hand it a directory; it names
// no file itself.
#pragma once

#include <string>

namespace amd_gpu {

struct sysfs {
    std::string sys = "/sys";
    std::string proc = "/proc";
    std::string shm = "/dev/shm";   ///< POSIX shared memory
    std::string kmsg = "/dev/kmsg"; ///< the kernel's log
};

} // namespace amd_gpu
