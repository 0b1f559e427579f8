// The known answers of the probes, and the arithmetic of their reports.
#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <set>

#include "probes/output.hpp"
#include "probes/probes.hpp"

using namespace amd_gpu::probes;

namespace {

/// The chain as a processor computes it, one fused multiply-add after the other.
double chain_by_hand(std::uint64_t index, std::uint64_t seed, std::uint64_t steps) {
    const chain operands = chain_operands(index, seed);
    const auto a = static_cast<double>(operands.a);
    const auto b = static_cast<double>(operands.b);
    auto x = static_cast<double>(operands.start);
    for (std::uint64_t step = 0; step < steps; ++step) {
        x = std::fma(a, b, x);
        x = std::fma(-a, b - 1.0, x);
    }
    return x;
}

} // namespace

TEST_CASE("an FP64 chain ends exactly at its closed form", "[probe]") {
    for (std::uint64_t index = 0; index < 50; ++index)
        for (const std::uint64_t steps : {0U, 1U, 7U, 4096U, 100000U})
            CHECK(chain_by_hand(index, 42, steps) == static_cast<double>(chain_answer(index, 42, steps)));
}

TEST_CASE("the longest FP64 chain stays below 2^53", "[probe]") {
    const std::uint64_t largest_factor = (std::uint64_t{1} << 26U) - 1;
    const std::uint64_t x = (std::uint64_t{1} << 14U) + most_steps * largest_factor;
    CHECK(x + largest_factor * largest_factor < std::uint64_t{1} << 53U);
    CHECK(most_steps >= std::uint64_t{chain_steps(UINT64_MAX)} * 1001);
}

TEST_CASE("factors of FP64 chains have 26 bits and differ between chains and seeds", "[probe]") {
    std::set<std::uint64_t> seen;
    for (std::uint64_t index = 0; index < 1000; ++index)
        for (const std::uint64_t seed : {1U, 2U}) {
            const chain operands = chain_operands(index, seed);
            CHECK(operands.a >> 25U == 1);
            CHECK(operands.b >> 25U == 1);
            seen.insert(operands.a << 26U | operands.b);
        }
    CHECK(seen.size() == 2000);
}

TEST_CASE("a wrong FP64 result is found with its bit", "[probe]") {
    std::vector<double> state;
    for (std::uint64_t index = 0; index < 64; ++index)
        state.push_back(static_cast<double>(chain_answer(index, 7, 100)));
    CHECK(verify_chains(state.data(), state.size(), 7, 100).errors == 0);
    CHECK(verify_chains(state.data(), state.size(), 7, 101).errors == 64);

    state[5] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(state[5]) ^ (std::uint64_t{1} << 17U));
    state[9] = 0;
    const verification found = verify_chains(state.data(), state.size(), 7, 100);
    CHECK(found.errors == 2);
    CHECK(found.first_index == 5);
    CHECK(differing_bits(found.expected, found.found) == std::vector<int>{17});
}

TEST_CASE("a pattern and its complement hold every bit at both values", "[probe]") {
    const std::uint64_t seed = 0x123456789abcdefU;
    for (const std::uint64_t index : {0U, 1U, 12345U})
        CHECK((pattern_word(index, seed) ^ pattern_word(index, ~seed)) == UINT64_MAX);
    CHECK(pattern_word(3, seed) != pattern_word(4, seed));
}

TEST_CASE("every pair meets once and no GCD is in two pairs of a round", "[probe]") {
    for (std::size_t count = 2; count <= 16; ++count) {
        std::set<std::pair<std::size_t, std::size_t>> met;
        const auto rounds = disjoint_rounds(count);
        CHECK(rounds.size() == count + count % 2 - 1);
        for (const auto& round : rounds) {
            std::set<std::size_t> busy;
            for (const auto& [low, high] : round) {
                CHECK(low < high);
                CHECK(high < count);
                CHECK(busy.insert(low).second);
                CHECK(busy.insert(high).second);
                CHECK(met.emplace(low, high).second);
            }
        }
        CHECK(met.size() == count * (count - 1) / 2);
    }
    CHECK(disjoint_rounds(1).size() <= 1);
    CHECK(disjoint_rounds(0).empty());
}

TEST_CASE("reports name the wrong word as text", "[probe]") {
    CHECK(hexadecimal(0) == "0x0000000000000000");
    CHECK(hexadecimal(0xdeadbeef00000001U) == "0xdeadbeef00000001");
    const record line = mismatch("pattern", "0000:c1:00.0", {3, 99, 0, 5});
    CHECK(line.dump() == R"({"type":"mismatch","probe":"pattern","bdf":"0000:c1:00.0","index":99,)"
                         R"("expected":"0x0000000000000000","found":"0x0000000000000005","bits":[0,2]})");
    CHECK(measurement("fma64", "0000:c1:00.0", 1.5, "TFLOP/s", 0.1, 8, std::nullopt)["clock_mhz"].is_null());
}
