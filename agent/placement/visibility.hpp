// What the runtime makes of the variables that hide GPUs from a process. Pure.
//
// ROCR_VISIBLE_DEVICES filters and orders the devices first; HIP_VISIBLE_DEVICES, or where that is not set or empty
// CUDA_VISIBLE_DEVICES, then counts in what is left over. Each list ends at its first entry that names no device or one
// that was named before (ROCR-Runtime amd_filter_device.cpp; clr rocdevice.cpp).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// The variables, as a process has them. Set but empty hides everything in ROCR's layer.
struct visibility_variables {
    std::optional<std::string> rocr;    ///< ROCR_VISIBLE_DEVICES
    std::optional<std::string> hip;     ///< HIP_VISIBLE_DEVICES
    std::optional<std::string> cuda;    ///< CUDA_VISIBLE_DEVICES
    std::optional<std::string> ordinal; ///< GPU_DEVICE_ORDINAL, read by OpenCL alone
};

/// What a process sees.
struct visible_devices {
    std::vector<std::size_t> devices;  ///< positions in the list of all devices, in the process's own order
    std::vector<std::string> problems; ///< entries that name nothing, and layers that leave nothing over; in words
};

/// `ids` are the unique ids of all devices in the runtime's own order, 16 hexadecimal digits, or empty where one has
/// none.
visible_devices visible(const visibility_variables& variables, const std::vector<std::string>& ids);

/// The four variables of an environment that `read` knows.
visibility_variables visibility_of(const std::function<std::optional<std::string>(const std::string&)>& read);

} // namespace amd_gpu
