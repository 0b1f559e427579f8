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

/// Which of HIP's devices, given by their addresses in its order, are the ones with these ids; -1: it lists none. The
/// partitions of a function come under its one address or each under a function number of its own. Where as many are
/// visible as are asked for, they are these, in order (whoever started us has hidden the others); where more are, the
/// partition's number counts.
std::vector<int> ordinals_of(const std::vector<std::string>& addresses, const std::vector<std::string>& ids);

/// A device as HIP lists it.
struct listed_device {
    std::string address; ///< "0000:c1:00.0"
    std::string target;  ///< as the runtime takes it, overrides of the environment included; empty: not known
};
/// The devices that HIP lists, in its order.
result<std::vector<listed_device>> list_devices(hip& runtime);

class gcd {
  public:
    /// The devices with these ids ("0000:c1:00.0", or "0001:02:00.0/3" for a partition), in their order. not_found when
    /// HIP does not list one; FAILED then holds its id.
    static result<std::vector<gcd>> open(hip& runtime, const std::vector<std::string>& ids, std::string& failed);

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
