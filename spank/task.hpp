// Which GCDs a task gets, and what its environment says of them. Pure: the caller finds out what can be opened.
#pragma once

#include "service/exchange.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// Where a task stands among the tasks of its step on this node.
struct task_place {
    uint32_t local_id = 0;
    uint32_t tasks = 1;
};

/// The GCDs of one task out of those it may use: contiguous shares in BDF order, so that neighbours share a package.
/// With more tasks than GCDs, several tasks share one.
std::vector<granted_gcd> share_of(const std::vector<granted_gcd>& usable, task_place place);

/// The value of ROCR_VISIBLE_DEVICES for some GCDs: "GPU-<unique id>", which holds whatever the order; where an id is
/// unknown, positions among `openable`, the GCDs that the runtime will list. Nothing when that cannot be said either.
std::optional<std::string> rocr_mask(const std::vector<granted_gcd>& mine, const std::vector<granted_gcd>& openable);

/// Everything the task's environment says of its GCDs: SLURM_AMD_GPU_*, and the masks when `mask` is given. The layers
/// above ROCR (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL) index what ROCR leaves over, so those
/// that are set are set anew to 0..n-1.
std::vector<edit> task_edits(const std::vector<granted_gcd>& mine, const std::optional<std::string>& mask,
                             const std::function<bool(const std::string&)>& is_set);

} // namespace amd_gpu
