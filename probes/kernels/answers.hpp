// The known answers of the kernels: what each word of memory and each FP64 chain must hold. Host and device compile
// this one file, so the host can judge what the device computed. Pure arithmetic on integers; nothing here runs on a
// GPU by itself and nothing here knows HIP.
#pragma once

#include <cstdint>

namespace amd_gpu::probes {

/// Threads per block of every kernel. Constant, so that no kernel needs hidden arguments.
constexpr std::uint32_t block_size = 256;

/// Independent FP64 chains per thread: enough to hide the latency of one fused multiply-add.
constexpr std::uint32_t chains_per_thread = 8;

/// One access of 16 bytes: the widest load of one thread (global_load_dwordx4).
using quad = std::uint64_t __attribute__((vector_size(16)));

/// What a verifying kernel found. `first_index` counts 64-bit words from the start of the array; it, `expected` and
/// `found` are valid when `errors` is not 0.
struct verification {
    std::uint64_t errors;
    std::uint64_t first_index;
    std::uint64_t expected;
    std::uint64_t found;
};

/// The content of 64-bit word `index`: its own index under a mask. Two words of one array never hold the same value, so
/// a write that lands at a wrong address shows; the complement of the seed turns every bit over.
constexpr std::uint64_t pattern_word(std::uint64_t index, std::uint64_t seed) {
    return index ^ seed;
}

/// A well mixed 64-bit value (the finaliser of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

/// Operands of one FP64 chain. One step is two fused multiply-adds, x += a*b and x -= a*(b-1), so it advances x by
/// exactly a. The factors have 26 bits: each product fills the 52 bits of a mantissa, every sum stays below 2^53, and
/// no step ever rounds. An error in any step is therefore still there at the end, and a step left out shows as well.
struct chain {
    std::uint64_t a;     ///< 2^25 <= a < 2^26
    std::uint64_t b;     ///< 2^25 <= b < 2^26
    std::uint64_t start; ///< x before the first step, below 2^14
};

constexpr chain chain_operands(std::uint64_t index, std::uint64_t seed) {
    constexpr std::uint64_t top = std::uint64_t{1} << 25U;
    const std::uint64_t bits = mix(index ^ mix(seed));
    return {top | (bits & (top - 1)), top | ((bits >> 25U) & (top - 1)), bits >> 50U};
}

/// The most steps after which x is still exact: 2^24 * 2^26 + 2^52 < 2^53.
constexpr std::uint64_t most_steps = std::uint64_t{1} << 24U;

/// x of chain `index` after `steps` steps (<= most_steps): an integer below 2^51, so exact as a double.
constexpr std::uint64_t chain_answer(std::uint64_t index, std::uint64_t seed, std::uint64_t steps) {
    const chain operands = chain_operands(index, seed);
    return operands.start + steps * operands.a;
}

} // namespace amd_gpu::probes
