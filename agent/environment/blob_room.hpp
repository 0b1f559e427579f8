// Room for images: what is removed for another one, and how its room is set apart before it is fetched.
#pragma once

#include "environment/blob_cache.hpp"
#include "environment/blob_place.hpp"
#include "health/slurm.hpp"

#include <optional>

namespace amd_gpu {

/// An image in the cache, or a part of one.
struct cached_image {
    std::string sha256;
    uint64_t bytes = 0;    ///< of the disk
    int64_t last_used = 0; ///< nanoseconds since 1970
    bool pinned = false;
};

/// What limits the cache.
struct cache_room {
    uint64_t limit = 0;                  ///< bytes that all images may have
    uint64_t free_bytes = 0;             ///< of the disk, for everybody
    std::optional<uint64_t> free_inodes; ///< unknown where the file system makes them as needed
};

/// The images to remove, those first that have not been used for the longest time, so that `need` more bytes fit.
/// Pinned ones stay. Error (internal): all that can be removed is not enough; says what there is.
result<std::vector<std::string>> images_to_remove(std::vector<cached_image> present, uint64_t need,
                                                  const cache_room& room);

/// Whether a job is over, by what the controller says of it. It says nothing: not known to be.
bool has_ended(const result<slurm_control::job_record>& answer);

/// Sets room apart for an image: removes others for it, and makes its partial file, empty or with what has come, with
/// its blocks allocated, so that images fetched at the same time do not count on the same room. Whoever calls holds the
/// lock of the image. Errors (internal): no room, with what is in the way; (timed_out).
status make_room(const blob_place& place, const settings& site, const blob_source& what, deadline until,
                 const progress& say);

/// Removes an image and unmounts it. False: somebody uses it or works on it. Whoever calls holds the lock of the pins
/// alone and has seen no pin.
bool remove_image(const blob_place& place, const std::string& sha256, deadline until);

/// "1.5 GiB"
std::string readable_bytes(uint64_t bytes);

} // namespace amd_gpu
