// The memory bandwidth probe.
#include "output.hpp"
#include "probes.hpp"

namespace amd_gpu::probes {

status hbm_copy(gcd& device, const settings& sizes) {
    const auto made = device.allocate(2, sizes.bytes);
    if (!made)
        return made.failure();
    quad* const destination = made->at(0);
    quad* const source = made->at(1);
    const std::uint64_t quads = made->quads();
    const std::uint32_t blocks = device.grid(quads);

    // The destination starts as the complement: memory that still holds an older copy must not pass for a new one.
    if (auto filled = device.launch("copy_fill", blocks, source, quads, sizes.seed, blocks); !filled)
        return filled;
    if (auto filled = device.launch("copy_fill", blocks, destination, quads, ~sizes.seed, blocks); !filled)
        return filled;
    const auto copy = [&] {
        return device.launch("hbm_copy", blocks, destination, static_cast<const quad*>(source), quads, blocks);
    };
    if (auto warmed = copy(); !warmed)
        return warmed;
    const auto timed = device.begin();
    if (!timed)
        return timed.failure();
    for (std::uint32_t i = 0; i < sizes.repeat; ++i)
        if (auto launched = copy(); !launched)
            return launched;
    const auto seconds = device.finish(*timed, "kernel hbm_copy");
    if (!seconds)
        return seconds.failure();
    const auto verified = device.verify("copy_verify", destination, quads, sizes.seed);
    if (!verified)
        return verified.failure();

    const double moved = 2.0 * static_cast<double>(made->bytes) * sizes.repeat;
    record line = measurement("hbm_copy", device.bdf(), moved / *seconds / 1e9, "GB/s", *seconds, made->bytes,
                              device.clock_mhz());
    line["verified"] = verified->errors == 0;
    write_line(line);
    if (verified->errors > 0)
        write_line(mismatch("hbm_copy", device.bdf(), *verified));
    return success();
}

} // namespace amd_gpu::probes
