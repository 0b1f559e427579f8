// The probes: each measures one property of the hardware and prints what it measured. An error is returned when a call
// of the runtime failed; a wrong result of the hardware is no error but a "mismatch" line. No probe keeps memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gcd.hpp"

namespace amd_gpu::probes {

/// Bandwidth of copying one array onto another, in 1e9 bytes a second, read and written bytes both counted; the copy is
/// verified.
status hbm_copy(gcd& device, const settings& sizes);

/// Writes and verifies a pattern and its complement; the number of wrong 64-bit words.
status pattern(gcd& device, const settings& sizes);

/// Rate of FP64 fused multiply-adds in 1e12 operations a second (two per multiply-add), every result compared with the
/// exact answer.
status fma64(gcd& device, const settings& sizes);

/// Bandwidth from every GCD to every other by a kernel that runs at the destination, contents verified there; pairs
/// that share no GCD run at the same time. All must be open in one process.
status links(std::vector<gcd>& devices, const settings& sizes);

/// The order in which links() goes through the pairs of COUNT GCDs: rounds of disjoint pairs in which every unordered
/// pair appears exactly once (the circle method of tournaments).
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> disjoint_rounds(std::size_t count);

/// Steps of one FP64 chain per launch for arrays of BYTES: small probes are small in everything.
std::uint32_t chain_steps(std::uint64_t bytes);

/// Compares STATE, as the kernel fma64 leaves it after STEPS steps, with the known answers. Indices are chain numbers,
/// words are the bits of the doubles.
verification verify_chains(const double* state, std::uint64_t chains, std::uint64_t seed, std::uint64_t steps);

} // namespace amd_gpu::probes
