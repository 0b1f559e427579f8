// The memory contents probe.
#include "output.hpp"
#include "probes.hpp"

namespace amd_gpu::probes {

status pattern(gcd& device, const settings& sizes) {
    const auto made = device.allocate(1, sizes.bytes);
    if (!made)
        return made.failure();
    quad* const memory = made->at(0);
    const std::uint64_t quads = made->quads();
    const std::uint32_t blocks = device.grid(quads);

    std::uint64_t errors = 0;
    verification example{};
    double seconds = 0;
    // The complement turns every bit over: a bit stuck at either value is wrong in one of the two passes.
    for (const std::uint64_t seed : {sizes.seed, ~sizes.seed}) {
        const auto timed = device.begin();
        if (!timed)
            return timed.failure();
        if (auto written = device.launch("pattern_write", blocks, memory, quads, seed, blocks); !written)
            return written;
        const auto took = device.finish(*timed, "kernel pattern_write");
        if (!took)
            return took.failure();
        const auto verified = device.verify("pattern_verify", memory, quads, seed);
        if (!verified)
            return verified.failure();
        if (errors == 0)
            example = *verified;
        errors += verified->errors;
        seconds += *took;
    }

    write_line(measurement("pattern", device.bdf(), static_cast<double>(errors), "errors", seconds, made->bytes,
                           device.clock_mhz()));
    if (errors > 0)
        write_line(mismatch("pattern", device.bdf(), example));
    return success();
}

} // namespace amd_gpu::probes
