// The few mount calls that a sandbox is made of, with errors that name the place. It owns no state.
#pragma once

#include "result.hpp"

#include <string>

namespace sim {

using amd_gpu::status;

/// A new tmpfs on the directory TARGET; OPTIONS as for mount(8), such as "mode=755".
status mount_tmpfs(const std::string& target, const std::string& options);

/// Shows SOURCE (with all that is mounted below it) at TARGET as well.
status bind(const std::string& source, const std::string& target);

/// Moves the mount at SOURCE to TARGET.
status move_mount_to(const std::string& source, const std::string& target);

/// An empty TARGET of the kind that SOURCE can be bound to, made with all directories above it.
status make_mount_point(const std::string& source, const std::string& target);

/// Covers the directory PATH with a tmpfs in which every entry but EXCEPT is the one that was there: entries made later
/// are private.
status cover_with_private_copy(const std::string& path, const std::string& except);

/// Lays a private, writable layer over the directory PATH; LAYER is an empty directory on tmpfs for what is written.
status cover_with_overlay(const std::string& path, const std::string& layer);

/// "WHAT: reason of errno" as an error.
amd_gpu::error system_error(const std::string& what);

} // namespace sim
