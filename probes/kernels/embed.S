// The bundle of code objects as read-only data. It starts on a page and has at least 4096 readable bytes behind it,
// because runtimes hand a fixed 4096 bytes from the pointer to their parser (ROCm clr, hip_fatbin.cpp). Without
// AMD_GPU_KERNELS (no compiler for amdgcn at build time) it is empty.
    .section .rodata.amd_gpu_kernels, "a", @progbits
    .balign 4096
    .globl amd_gpu_kernels_begin
    .hidden amd_gpu_kernels_begin
amd_gpu_kernels_begin:
#ifdef AMD_GPU_KERNELS
    .incbin AMD_GPU_KERNELS
#endif
    .globl amd_gpu_kernels_end
    .hidden amd_gpu_kernels_end
amd_gpu_kernels_end:
    .zero 4096
    .balign 4096
    .section .note.GNU-stack, "", @progbits
