// The CPU build of the probes' kernels: the same sources, one call per thread of the grid, and for each kernel what a
// launch costs on the hardware. Kernels are found by name.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace sim::hip {

/// What one launch moves and computes.
struct work {
    const void* reads = nullptr; ///< an address in the memory that is read, for whose it is
    double read_bytes = 0;
    void* writes = nullptr;
    double written_bytes = 0;
    double flops = 0;
    bool cached = false; ///< the memory traffic takes no time
};

/// A launch with its arguments bound.
struct bound_kernel {
    std::function<void(std::uint32_t blocks, std::uint32_t threads)> run;
    work cost;
};

struct kernel {
    std::string_view name;
    std::string_view probe; ///< the probe whose result this kernel writes, empty for helpers
    bound_kernel (*bind)(void** arguments);
};

/// The kernel NAME, or null.
const kernel* find_kernel(std::string_view name);

} // namespace sim::hip
