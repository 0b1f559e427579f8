// One GCD as the probes use it: found by its PCI address, with the module loaded, one stream and the ways to allocate,
// launch, wait and time. Every wait polls; the deadline is the watchdog's. It owns what it allocated and frees it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hip.hpp"
#include "kernels/answers.hpp"

namespace amd_gpu::probes {

/// What the caller asked for, the same for every probe.
struct settings {
    std::uint64_t bytes = 0;  ///< per array
    std::uint32_t repeat = 0; ///< timed launches, back to back
    std::uint64_t seed = 0;   ///< of every pattern and operand
};

/// Arrays of one size, allocated together.
struct arrays {
    std::vector<handle> memory;
    std::uint64_t bytes = 0; ///< of each: what was asked for or, when memory is short, less

    [[nodiscard]] quad* at(std::size_t index) const { return static_cast<quad*>(memory[index].get()); }
    [[nodiscard]] std::uint64_t quads() const { return bytes / sizeof(quad); }
};

/// The start and the end of some work on a stream.
struct interval {
    handle start;
    handle stop;
};

class gcd {
  public:
    /// The device whose PCI address is BDF ("0000:c1:00.0"); of several with that address (partitions) the one numbered
    /// PARTITION. not_found when HIP does not list it.
    static result<gcd> open(hip& runtime, const std::string& bdf, int partition);

    /// Loads the bundle KERNELS, which launch() needs. unsupported when it has no code object for this processor.
    status load(std::span<const std::byte> kernels);

    /// Makes this the device that the next calls mean.
    status select();

    /// COUNT arrays of BYTES each, halved down to 1 MiB as long as the device says that it has not enough.
    result<arrays> allocate(std::size_t count, std::uint64_t bytes);
    /// Host memory that the device can write into by itself.
    result<handle> allocate_host(std::uint64_t bytes);

    /// Starts the kernel NAME on a grid of BLOCKS; ARGUMENTS must have exactly the types of the kernel's parameters.
    template<typename... A>
    status launch(const char* name, std::uint32_t blocks, A... arguments) {
        void* parameters[] = {&arguments...};
        return launch_packed(name, blocks, parameters);
    }

    result<interval> begin();
    status end(const interval& of);
    /// Polls until the end of OF is reached; WHAT is named when time runs out there.
    status wait(const interval& of, const char* what);
    /// Device time between start and end, in seconds.
    result<double> seconds(const interval& of);
    /// Launches, ends, waits: `begin()` before, the device time in seconds as the answer.
    result<double> finish(const interval& of, const char* what);

    /// Compares MEMORY with the pattern of SEED by the kernel NAME and fetches what it found.
    result<verification> verify(const char* name, const quad* memory, std::uint64_t quads, std::uint64_t seed);
    /// Copies BYTES from the device and waits.
    status fetch(void* host, const void* device, std::uint64_t bytes);

    /// Blocks for a kernel that walks QUADS: enough to fill the GCD, but no thread without four accesses to make.
    [[nodiscard]] std::uint32_t grid(std::uint64_t quads) const;
    [[nodiscard]] std::uint32_t compute_units() const { return units_; }
    [[nodiscard]] const std::string& bdf() const { return bdf_; }
    [[nodiscard]] const std::string& target() const { return target_; }
    [[nodiscard]] int ordinal() const { return ordinal_; }
    [[nodiscard]] hip& runtime() const { return *runtime_; }
    /// The engine clock that the driver last showed while a kernel was waited for, in MHz; nothing when it shows none.
    [[nodiscard]] std::optional<double> clock_mhz() const { return clock_mhz_; }

  private:
    explicit gcd(hip& runtime)
        : runtime_(&runtime) {}
    status launch_packed(const char* name, std::uint32_t blocks, void** parameters);

    hip* runtime_;
    std::string bdf_;
    std::string target_; ///< what the runtime calls it, "gfx90a:sramecc+:xnack-"
    std::string clock_file_;
    int ordinal_ = -1;
    std::uint32_t units_ = 0;
    std::optional<double> clock_mhz_;
    handle module_;
    handle stream_;
};

} // namespace amd_gpu::probes
