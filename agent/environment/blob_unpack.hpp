// Unpacking images where the kernel cannot mount them.
#pragma once

#include "environment/blob_cache.hpp"
#include "environment/blob_place.hpp"

#include <optional>
#include <string_view>

namespace amd_gpu {

/// Unpacks an image that was checked into CACHE/unpacked/HEX, as a whole or not at all: everything in it is root's,
/// nobody else may write it, and set-user-ID bits and devices are left out. Whoever calls holds the lock of the image.
/// Errors: unsupported (no unsquashfs), peer (unsquashfs refuses it, or its list makes no sense), internal (no room, or
/// the disk), timed_out.
status unpack_image(const blob_place& place, const blob_source& what, deadline until);

/// Removes what an attempt that was killed left. Whoever calls holds the lock of the image.
void remove_unpacking(const blob_place& place, const std::string& sha256);

/// Removes an unpacked image, too. Fine when there is none.
void remove_unpacked(const blob_place& place, const std::string& sha256);

/// The bytes of the disk that an unpacked image takes; 0 when there is none.
uint64_t unpacked_size(const blob_place& place, const std::string& sha256);

/// The bytes of a regular file by its line in the list that `unsquashfs -lln` prints ("-rw-r--r-- 0/0  3 2026-12-01
/// 04:26 squashfs-root/a"); 0 for a line about anything else. Nothing when the line cannot be read.
std::optional<uint64_t> listed_bytes(std::string_view line);

} // namespace amd_gpu
