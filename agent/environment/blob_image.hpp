// What an image must look like before anything mounts or unpacks it. The hash says that it is what the index names;
// this says that the index does not name nonsense.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <string_view>

namespace amd_gpu {

/// So many bytes at the beginning of an image hold its superblock.
constexpr std::size_t superblock_bytes = 96;

/// From the superblock of a squashfs image.
struct image_facts {
    uint32_t inodes = 0;
    uint32_t block_bytes = 0;
    uint64_t bytes_used = 0;
};

/// Reads the superblock at the beginning of a file of so many bytes (Linux fs/squashfs/squashfs_fs.h). Errors (peer):
/// no squashfs, not version 4.0, a size that its file does not have, a block size that Linux refuses.
result<image_facts> parse_superblock(std::string_view beginning, uint64_t file_bytes);

/// The bytes that the files of an image take when it is unpacked, from the list that `unsquashfs -lln` prints. Errors
/// (peer): no such list.
result<uint64_t> unpacked_bytes(std::string_view listing);

} // namespace amd_gpu
