// Taking over what was downloaded: from a file that others may have written to one that is right and that nobody can
// change.
#pragma once

#include "environment/blob_cache.hpp"
#include "environment/blob_place.hpp"

#include <atomic>

namespace amd_gpu {

/// Whether a file holds an image: its size, its SHA-256 and its superblock. `stop`: set by another thread to end it.
/// Errors: not_found, peer (it is something else), timed_out (stopped), internal (the disk).
status check_image(const std::string& file, const blob_source& what, const std::atomic<bool>& stop);

/// Checks what was downloaded and makes it an image of the cache. Errors: as above; a file that is something else is
/// removed.
status take_over(const blob_place& place, const blob_source& what, const std::atomic<bool>& stop);

} // namespace amd_gpu
