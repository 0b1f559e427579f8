// Whether the site's environments can be used on this node. Pure.
#pragma once

#include "doctor/checks.hpp"
#include "environment/catalogue.hpp"

#include <string_view>

namespace amd_gpu {

/// One environment: what this node's GPUs would get. A variant whose files are not here is a warning, and so is a
/// default environment that has none for these GPUs; any other may be for other nodes.
step check_environment(const environment& of, const result<std::vector<variant_candidate>>& variants,
                       const std::vector<target_id>& devices, bool is_default);

/// Whether the kernel can mount images: from /proc/filesystems, and the list of modules that it could load
/// (modules.dep and modules.builtin; empty when they cannot be read).
step check_images(std::string_view filesystems, std::string_view modules);

} // namespace amd_gpu
