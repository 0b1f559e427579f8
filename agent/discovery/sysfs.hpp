// Where the kernel's file systems are mounted. Every reader takes it, so that a test can hand it a directory; it names
// no file itself.
#pragma once

#include <string>

namespace amd_gpu {

struct sysfs {
    std::string sys = "/sys";
    std::string proc = "/proc";
};

} // namespace amd_gpu
