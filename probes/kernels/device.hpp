// The few words a kernel needs from its compiler: where this thread is, an atomic addition, a fused multiply-add.
// Written with compiler builtins only, so that the kernels compile for amdgcn without any ROCm package; on a CPU they
// compile as ordinary functions that do the work of one thread, and whoever walks the grid sets `here`.
#pragma once

#include "answers.hpp"

#if defined(__AMDGCN__)
#define AMD_GPU_KERNEL extern "C" __attribute__((global, used)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
#define AMD_GPU_DEVICE __attribute__((device, always_inline)) inline
#define AMD_GPU_UNROLL _Pragma("unroll 4")
#else
#define AMD_GPU_KERNEL extern "C" inline
#define AMD_GPU_DEVICE inline
#define AMD_GPU_UNROLL
#endif

namespace amd_gpu::probes {

#if defined(__AMDGCN__)

AMD_GPU_DEVICE std::uint64_t thread_index() {
    return std::uint64_t{__builtin_amdgcn_workgroup_id_x()} * block_size + __builtin_amdgcn_workitem_id_x();
}

AMD_GPU_DEVICE std::uint64_t fetch_add(std::uint64_t* target, std::uint64_t value) {
    return __hip_atomic_fetch_add(target, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#else

struct position {
    std::uint32_t block;
    std::uint32_t thread;
};
inline constinit thread_local position here{};

inline std::uint64_t thread_index() {
    return std::uint64_t{here.block} * block_size + here.thread;
}

inline std::uint64_t fetch_add(std::uint64_t* target, std::uint64_t value) {
    return __atomic_fetch_add(target, value, __ATOMIC_RELAXED);
}

#endif

/// Writes the pattern of `seed` into all of `memory`, 16 bytes at a time.
AMD_GPU_DEVICE void write_pattern(quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks) {
    const std::uint64_t stride = std::uint64_t{blocks} * block_size;
    for (std::uint64_t i = thread_index(); i < quads; i += stride)
        memory[i] = quad{pattern_word(2 * i, seed), pattern_word(2 * i + 1, seed)};
}

/// Counts word `index` as an error if it is not the pattern's; the thread that counts first leaves its example.
AMD_GPU_DEVICE void verify_word(std::uint64_t found, std::uint64_t index, std::uint64_t seed, verification* outcome) {
    const std::uint64_t expected = pattern_word(index, seed);
    if (found != expected && fetch_add(&outcome->errors, 1) == 0) {
        outcome->first_index = index;
        outcome->expected = expected;
        outcome->found = found;
    }
}

/// Compares all of `memory` with the pattern of `seed`. `outcome` is zeroed by the host before.
AMD_GPU_DEVICE void verify_pattern(const quad* memory, std::uint64_t quads, std::uint64_t seed, std::uint32_t blocks,
                                   verification* outcome) {
    const std::uint64_t stride = std::uint64_t{blocks} * block_size;
    for (std::uint64_t i = thread_index(); i < quads; i += stride) {
        const quad found = memory[i];
        verify_word(found[0], 2 * i, seed, outcome);
        verify_word(found[1], 2 * i + 1, seed, outcome);
    }
}

/// Copies 16 bytes at a time, four loads in flight: a load that waits for the store before it would measure latency.
AMD_GPU_DEVICE void copy_quads(quad* __restrict__ destination, const quad* __restrict__ source, std::uint64_t quads,
                               std::uint32_t blocks) {
    const std::uint64_t stride = std::uint64_t{blocks} * block_size;
    std::uint64_t i = thread_index();
    for (; i + 3 * stride < quads; i += 4 * stride) {
        const quad first = source[i];
        const quad second = source[i + stride];
        const quad third = source[i + 2 * stride];
        const quad fourth = source[i + 3 * stride];
        destination[i] = first;
        destination[i + stride] = second;
        destination[i + 2 * stride] = third;
        destination[i + 3 * stride] = fourth;
    }
    for (; i < quads; i += stride)
        destination[i] = source[i];
}

} // namespace amd_gpu::probes
