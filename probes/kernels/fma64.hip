// Kernel of the FP64 probe: chains of fused multiply-adds whose exact result is known (answers.hpp). A launch goes on
// from what the launch before left in `state`, so the last state answers for every launch. `state` holds chain c of
// thread t at [c * threads + t]; `resume` is 0 in the first launch, which starts the chains.
#include "device.hpp"

using namespace amd_gpu::probes;

AMD_GPU_KERNEL void fma64(double* state, std::uint64_t seed, std::uint32_t steps, std::uint32_t blocks,
                          std::uint32_t resume) {
    const std::uint64_t threads = std::uint64_t{blocks} * block_size;
    const std::uint64_t thread = thread_index();
    double x[chains_per_thread];
    double a[chains_per_thread];
    double b[chains_per_thread];
    double less[chains_per_thread];
    for (std::uint32_t c = 0; c < chains_per_thread; ++c) {
        const std::uint64_t index = c * threads + thread;
        const chain operands = chain_operands(index, seed);
        a[c] = static_cast<double>(static_cast<std::uint32_t>(operands.a));
        b[c] = static_cast<double>(static_cast<std::uint32_t>(operands.b));
        less[c] = b[c] - 1.0;
        x[c] = resume != 0 ? state[index] : static_cast<double>(static_cast<std::uint32_t>(operands.start));
    }
    AMD_GPU_UNROLL
    for (std::uint32_t step = 0; step < steps; ++step) {
        for (std::uint32_t c = 0; c < chains_per_thread; ++c)
            x[c] = __builtin_fma(a[c], b[c], x[c]);
        for (std::uint32_t c = 0; c < chains_per_thread; ++c)
            x[c] = __builtin_fma(-a[c], less[c], x[c]);
    }
    for (std::uint32_t c = 0; c < chains_per_thread; ++c)
        state[c * threads + thread] = x[c];
}
