// The xnack mode of processes on a GPU: which one a process has that does not choose, and whether it may choose. The
// kernel shows neither; it follows from the processor and from the driver's parameter noretry. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace amd_gpu {

struct xnack_modes {
    std::optional<bool> by_default; ///< of a process without HSA_XNACK; nothing for processors without the feature
    std::optional<bool> selectable; ///< HSA_XNACK is obeyed
};

/// What decides about it.
struct xnack_facts {
    std::string_view processor;     ///< "gfx90a"
    std::optional<int64_t> noretry; ///< parameter of amdgpu: -1 is the driver's own choice by processor, 0, 1
    std::optional<bool> shared_virtual_memory; ///< capability of the KFD node; without it the mode cannot be set
    bool virtual_function = false;
};

/// Linux amdgpu_gmc.c, amdgpu_gmc_noretry_set: what the parameter becomes; kfd_process.c, kfd_process_xnack_mode: what
/// that means for processes, of which gfx90a and MI300 let each have its own mode; amdgpu_virt.c,
/// amdgpu_sriov_xnack_support. A process that sees several GPUs can have no mode that one of them lacks: that is not
/// looked at here.
xnack_modes xnack_of(const xnack_facts& facts);

} // namespace amd_gpu
