// Which GCDs a task gets, and what its environment says of them. Pure: the caller finds out what can be opened.
#pragma once

#include "placement/placement.hpp"
#include "service/exchange.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// The GCDs of a node's ranks as one list for all of them (mask=job), in the order of the map: device N is the closest
/// of rank N, so that a program which takes the device of its local rank gets the one beside it.
std::vector<granted_gcd> job_order(const std::vector<granted_gcd>& gcds, const std::vector<rank_place>& rows);

/// What the runtime lists beside the job's own GPUs.
struct device_fence {
    bool others_open = false;   ///< GPUs that are not the job's can be opened: the runtime lists them, too
    bool others_closed = false; ///< some of the node's GPUs cannot be opened: the runtime leaves them out
};

/// The value of ROCR_VISIBLE_DEVICES for some GCDs: "GPU-<unique id>", which holds whatever the order; where an id is
/// unknown, positions in the runtime's list, of which `open` are the job's own. Nothing when that cannot be said
/// either.
std::optional<std::string> rocr_mask(const std::vector<granted_gcd>& mine, const std::vector<granted_gcd>& open,
                                     device_fence fence);

/// Everything the task's environment says of its GCDs: SLURM_AMD_GPU_*, and the masks when `mask` is given. The layers
/// above ROCR (HIP_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, GPU_DEVICE_ORDINAL) index what ROCR leaves over, so those
/// that are set are set anew to 0..n-1.
std::vector<edit> task_edits(const std::vector<granted_gcd>& mine, const std::optional<std::string>& mask,
                             const std::function<bool(const std::string&)>& is_set);

} // namespace amd_gpu
