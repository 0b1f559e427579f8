// Kernels of the pattern probe: every word of memory gets its own index under a mask and must still have it later.
#include "device.hpp"

using namespace amd_gpu::probes;

AMD_GPU_KERNEL void pattern_write(quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks) {
    write_pattern(memory, quads, seed, blocks);
}

AMD_GPU_KERNEL void pattern_verify(const quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks,
                                   verification* outcome) {
    verify_pattern(memory, quads, seed, blocks, outcome);
}
