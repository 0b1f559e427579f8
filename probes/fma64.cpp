// The FP64 probe.
#include <algorithm>
#include <bit>

#include "output.hpp"
#include "probes.hpp"

namespace amd_gpu::probes {
namespace {

/// Four blocks of four waves on each compute unit: with eight chains per thread, enough work to hide every latency.
constexpr std::uint32_t blocks_per_unit = 4;

} // namespace

std::uint32_t chain_steps(std::uint64_t bytes) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes >> 19U, 32, 2048));
}

verification verify_chains(const double* state, std::uint64_t chains, std::uint64_t seed, std::uint64_t steps) {
    verification outcome{};
    for (std::uint64_t index = 0; index < chains; ++index) {
        const auto found = std::bit_cast<std::uint64_t>(state[index]);
        const auto expected = std::bit_cast<std::uint64_t>(static_cast<double>(chain_answer(index, seed, steps)));
        if (found != expected && outcome.errors++ == 0)
            outcome = {1, index, expected, found};
    }
    return outcome;
}

status fma64(gcd& device, const settings& sizes) {
    const std::uint32_t blocks = device.compute_units() * blocks_per_unit;
    const std::uint64_t chains = std::uint64_t{blocks} * block_size * chains_per_thread;
    const auto made = device.allocate(1, chains * sizeof(double));
    if (!made)
        return made.failure();
    if (made->bytes < chains * sizeof(double))
        return error{error_code::internal, "not enough memory for the results"};
    const auto host = device.allocate_host(made->bytes);
    if (!host)
        return host.failure();
    auto* const state = reinterpret_cast<double*>(made->at(0));
    const std::uint32_t steps = chain_steps(sizes.bytes);

    // Each launch goes on where the one before ended, the first of them being the warm-up.
    const auto advance = [&](std::uint32_t resume) {
        return device.launch("fma64", blocks, state, sizes.seed, steps, blocks, resume);
    };
    if (auto warmed = advance(0); !warmed)
        return warmed;
    const auto timed = device.begin();
    if (!timed)
        return timed.failure();
    for (std::uint32_t i = 0; i < sizes.repeat; ++i)
        if (auto launched = advance(1); !launched)
            return launched;
    const auto seconds = device.finish(*timed, "kernel fma64");
    if (!seconds)
        return seconds.failure();
    if (auto fetched = device.fetch(host->get(), state, made->bytes); !fetched)
        return fetched;
    const verification verified = verify_chains(static_cast<const double*>(host->get()), chains, sizes.seed,
                                                std::uint64_t{steps} * (sizes.repeat + 1));

    const double operations = 4.0 * static_cast<double>(chains) * steps * sizes.repeat;
    record line = measurement("fma64", device.bdf(), operations / *seconds / 1e12, "TFLOP/s", *seconds, made->bytes,
                              device.clock_mhz());
    line["verified"] = verified.errors == 0;
    write_line(line);
    if (verified.errors > 0)
        write_line(mismatch("fma64", device.bdf(), verified));
    return success();
}

} // namespace amd_gpu::probes
