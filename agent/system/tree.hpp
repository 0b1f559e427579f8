// Emptying a directory that a hostile owner has filled. To be called as that owner, so that whatever goes wrong can
// only harm what is the owner's own.
#pragma once

#include "result.hpp"

#include <string>

namespace amd_gpu {

/// Removes everything in a directory, not the directory itself. Follows no symbolic link, needs
/// a constant number of descriptors whatever the depth (deep parts are moved up), and opens what chmod has closed.
/// Errors: the directory is not one or cannot be opened; something in it cannot be removed (the first such thing).
status empty_directory(const std::string& path);

} // namespace amd_gpu
