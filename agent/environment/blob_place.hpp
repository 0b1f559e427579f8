// The directory of the cache of images: where things lie in it, whether it is a place for them, and its locks.
#pragma once

#include "result.hpp"
#include "system/deadline.hpp"
#include "system/fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace amd_gpu {

/// Paths below the directory of the cache, which has no symbolic links in it.
struct blob_place {
    std::string top;

    [[nodiscard]] std::string blobs() const { return top + "/blobs/sha256"; }
    [[nodiscard]] std::string partials() const { return top + "/partial"; }
    [[nodiscard]] std::string mounts() const { return top + "/mounts"; }
    [[nodiscard]] std::string unpacks() const { return top + "/unpacked"; }
    [[nodiscard]] std::string pins() const { return top + "/pins"; }
    [[nodiscard]] std::string blob(const std::string& sha256) const { return blobs() + "/" + sha256; }
    [[nodiscard]] std::string partial(const std::string& sha256) const { return partials() + "/" + sha256; }
    [[nodiscard]] std::string mount(const std::string& sha256) const { return mounts() + "/" + sha256; }
    [[nodiscard]] std::string unpacked(const std::string& sha256) const { return unpacks() + "/" + sha256; }
    /// Held while the files of one image change; for hours, perhaps.
    [[nodiscard]] std::string image_lock(const std::string& sha256) const { return top + "/locks/" + sha256; }
    /// Held for a moment: shared while pins come and go, alone while images that no pin names are removed.
    [[nodiscard]] std::string pins_lock() const { return top + "/locks/pins"; }
};

/// Makes what is missing and checks all of it. Errors: no place for a cache (configuration), or it cannot be made.
result<blob_place> open_blob_place(const std::string& directory);

/// "NFS" and so on when the number that statfs gives (Linux magic.h and the file systems' own headers) is that of a
/// file system whose files other nodes share, or of FUSE, behind which they may; empty when it is none of these.
std::string_view shared_file_system(uint64_t magic);

/// Why a cache may not lie at this path, which has no symbolic links; empty when it may: /run and /dev/shm are memory
/// that others need.
std::string path_problem(std::string_view real_path);

} // namespace amd_gpu
