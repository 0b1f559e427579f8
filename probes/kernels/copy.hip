// Kernels of the copy probes: hbm_copy within one GCD, link_copy from a peer's memory into the own. The probes fill the
// source and check the destination with copy_fill and copy_verify. Each probe has names of its own: when a kernel
// hangs, its name says which probe it was. `blocks` is the size of the grid.
#include "device.hpp"

using namespace amd_gpu::probes;

AMD_GPU_KERNEL void copy_fill(quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks) {
    write_pattern(memory, quads, seed, blocks);
}

AMD_GPU_KERNEL void copy_verify(const quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks,
                                verification* outcome) {
    verify_pattern(memory, quads, seed, blocks, outcome);
}

AMD_GPU_KERNEL void hbm_copy(quad* __restrict__ destination, const quad* __restrict__ source, std::uint64_t quads,
                             std::uint32_t blocks) {
    copy_quads(destination, source, quads, blocks);
}

AMD_GPU_KERNEL void link_copy(quad* __restrict__ destination, const quad* __restrict__ source, std::uint64_t quads,
                              std::uint32_t blocks) {
    copy_quads(destination, source, quads, blocks);
}
