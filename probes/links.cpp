// The probe of GCD pairs.
#include <algorithm>

#include "output.hpp"
#include "probes.hpp"

namespace amd_gpu::probes {
namespace {

/// One copy under way: device `to` reads from device `from`.
struct transfer {
    std::size_t from;
    std::size_t to;
    std::uint64_t seed;
    std::uint64_t bytes;
    interval timed;
};

/// The same arrays serve all rounds: [0] is written by copies, [1] is read from.
struct pair_memory {
    std::vector<arrays> of;
    [[nodiscard]] quad* destination(std::size_t device) const { return of[device].at(0); }
    [[nodiscard]] quad* source(std::size_t device) const { return of[device].at(1); }
};

/// Lets TO reach the memory of FROM. False when the node cannot do that at all.
result<bool> connect(const gcd& from, gcd& to) {
    hip& runtime = to.runtime();
    int possible = 0;
    if (auto asked = runtime.call("hipDeviceCanAccessPeer", runtime.functions().can_access_peer, &possible,
                                  to.ordinal(), from.ordinal());
        !asked)
        return asked.failure();
    if (possible == 0)
        return false;
    if (auto selected = to.select(); !selected)
        return selected.failure();
    if (auto enabled =
            runtime.call("hipDeviceEnablePeerAccess", runtime.functions().enable_peer_access, from.ordinal(), 0U);
        !enabled) {
        if (runtime.code() != hip_peer_already_enabled)
            return enabled.failure();
        runtime.forget_failure();
    }
    return true;
}

/// No measurement and no error: the node says itself that the pair has no path.
void report_unreachable(const gcd& from, const gcd& to) {
    write_line({{"type", "no_link"}, {"from", from.bdf()}, {"to", to.bdf()}, {"text", "no peer access"}});
}

/// Puts a fresh pattern into the source and its complement into the destination, and waits for both.
status prepare(std::vector<gcd>& devices, const pair_memory& memory, const transfer& copy) {
    const std::uint64_t quads = copy.bytes / sizeof(quad);
    const auto fill = [&](gcd& device, quad* where, std::uint64_t seed) -> status {
        const auto timed = device.begin();
        if (!timed)
            return timed.failure();
        const std::uint32_t blocks = device.grid(quads);
        if (auto launched = device.launch("copy_fill", blocks, where, quads, seed, blocks); !launched)
            return launched;
        const auto done = device.finish(*timed, "kernel copy_fill");
        return done ? success() : status(done.failure());
    };
    if (auto filled = fill(devices[copy.from], memory.source(copy.from), copy.seed); !filled)
        return filled;
    return fill(devices[copy.to], memory.destination(copy.to), ~copy.seed);
}

status start(std::vector<gcd>& devices, const pair_memory& memory, std::uint32_t repeat, transfer& copy) {
    gcd& device = devices[copy.to];
    const std::uint64_t quads = copy.bytes / sizeof(quad);
    const std::uint32_t blocks = device.grid(quads);
    const auto launch = [&] {
        return device.launch("link_copy", blocks, memory.destination(copy.to),
                             static_cast<const quad*>(memory.source(copy.from)), quads, blocks);
    };
    if (auto warmed = launch(); !warmed)
        return warmed;
    auto timed = device.begin();
    if (!timed)
        return timed.failure();
    copy.timed = *std::move(timed);
    for (std::uint32_t i = 0; i < repeat; ++i)
        if (auto launched = launch(); !launched)
            return launched;
    return device.end(copy.timed);
}

status report(std::vector<gcd>& devices, const pair_memory& memory, std::uint32_t repeat, const transfer& copy) {
    gcd& device = devices[copy.to];
    if (auto waited = device.wait(copy.timed, "kernel link_copy"); !waited)
        return waited;
    const auto seconds = device.seconds(copy.timed);
    if (!seconds)
        return seconds.failure();
    const auto verified =
        device.verify("copy_verify", memory.destination(copy.to), copy.bytes / sizeof(quad), copy.seed);
    if (!verified)
        return verified.failure();
    write_line({{"type", "link"},
                {"from", devices[copy.from].bdf()},
                {"to", device.bdf()},
                {"value", static_cast<double>(copy.bytes) * repeat / *seconds / 1e9},
                {"unit", "GB/s"},
                {"verified", verified->errors == 0},
                {"seconds", *seconds},
                {"bytes", copy.bytes}});
    if (verified->errors > 0)
        write_line(mismatch("links", device.bdf(), *verified));
    return success();
}

/// One direction of one round: all copies run at the same time.
status run_together(std::vector<gcd>& devices, const pair_memory& memory, std::uint32_t repeat,
                    std::vector<transfer> copies) {
    std::erase_if(copies, [](const transfer& copy) { return copy.bytes == 0; });
    for (const transfer& copy : copies)
        if (auto prepared = prepare(devices, memory, copy); !prepared)
            return prepared;
    for (transfer& copy : copies)
        if (auto started = start(devices, memory, repeat, copy); !started)
            return started;
    for (const transfer& copy : copies)
        if (auto reported = report(devices, memory, repeat, copy); !reported)
            return reported;
    return success();
}

} // namespace

std::vector<std::vector<std::pair<std::size_t, std::size_t>>> disjoint_rounds(std::size_t count) {
    // With an odd count one more place is added whose partner rests.
    const std::size_t places = count + count % 2;
    std::vector<std::vector<std::pair<std::size_t, std::size_t>>> rounds;
    for (std::size_t round = 0; round + 1 < places; ++round) {
        auto& pairs = rounds.emplace_back();
        const std::size_t turning = places - 1;
        for (std::size_t i = 0; i < places / 2; ++i) {
            const std::size_t left = i == 0 ? turning : (round + i) % turning;
            const std::size_t right = (round + turning - i) % turning;
            if (left < count && right < count)
                pairs.emplace_back(std::min(left, right), std::max(left, right));
        }
    }
    return rounds;
}

status links(std::vector<gcd>& devices, const settings& sizes) {
    pair_memory memory;
    for (gcd& device : devices) {
        if (auto selected = device.select(); !selected)
            return selected;
        auto made = device.allocate(2, sizes.bytes);
        if (!made)
            return made.failure();
        memory.of.push_back(*std::move(made));
    }
    std::uint64_t fresh = sizes.seed;
    const auto plan = [&](std::size_t from, std::size_t to) -> result<transfer> {
        fresh = mix(fresh);
        const auto connected = connect(devices[from], devices[to]);
        if (!connected)
            return connected.failure();
        if (!*connected)
            report_unreachable(devices[from], devices[to]);
        return transfer{from, to, fresh, *connected ? std::min(memory.of[from].bytes, memory.of[to].bytes) : 0, {}};
    };
    for (const auto& round : disjoint_rounds(devices.size()))
        for (const bool forward : {true, false}) {
            std::vector<transfer> copies;
            for (const auto& [low, high] : round) {
                auto planned = forward ? plan(low, high) : plan(high, low);
                if (!planned)
                    return planned.failure();
                copies.push_back(*std::move(planned));
            }
            if (auto done = run_together(devices, memory, sizes.repeat, std::move(copies)); !done)
                return done;
        }
    return success();
}

} // namespace amd_gpu::probes
