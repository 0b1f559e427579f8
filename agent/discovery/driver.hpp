// The driver amdgpu of the running kernel: whether it is loaded, which one it is, and since when.
#pragma once

#include "discovery/sysfs.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace amd_gpu {

struct driver_state {
    std::string kernel;                 ///< release of the running kernel, "" when it cannot be read
    std::optional<bool> loaded;         ///< unknown when /sys/module cannot be read
    std::optional<std::string> version; ///< of AMD's own package; the kernel's driver has none

    /// "6.7.0 (DKMS)" or "in-tree, kernel 6.8.0-79"; nothing when it is not loaded.
    [[nodiscard]] std::optional<std::string> text() const;
};

driver_state read_driver(const sysfs& where);

/// A number that is another one each time the module is loaded, and the same as long as it stays; nothing when it is
/// not loaded.
std::optional<uint64_t> driver_instance(const sysfs& where);

} // namespace amd_gpu
