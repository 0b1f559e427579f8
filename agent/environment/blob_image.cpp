#include "environment/blob_image.hpp"

#include "system/files.hpp"

#include <bit>
#include <fmt/format.h>
#include <optional>

namespace amd_gpu {
namespace {

constexpr uint64_t squashfs_magic = 0x73717368; // "hsqs" in little endian
constexpr uint32_t least_block = 4096;
constexpr uint32_t most_block = 1U << 20; // SQUASHFS_FILE_MAX_SIZE

/// A little-endian number of so many bytes.
uint64_t little(std::string_view from, std::size_t at, std::size_t bytes) {
    uint64_t value = 0;
    for (std::size_t i = bytes; i > 0; --i)
        value = value << 8 | static_cast<unsigned char>(from[at + i - 1]);
    return value;
}

error no_image(const std::string& why) {
    return {error_code::peer, "the image cannot be used: " + why};
}

} // namespace

result<image_facts> parse_superblock(std::string_view beginning, uint64_t file_bytes) {
    if (beginning.size() < superblock_bytes || little(beginning, 0, 4) != squashfs_magic)
        return no_image("it is no squashfs");
    const uint64_t major = little(beginning, 28, 2);
    const uint64_t minor = little(beginning, 30, 2);
    if (major != 4 || minor != 0)
        return no_image(fmt::format("it is squashfs {}.{}, and Linux mounts 4.0", major, minor));
    image_facts facts;
    facts.inodes = static_cast<uint32_t>(little(beginning, 4, 4));
    facts.block_bytes = static_cast<uint32_t>(little(beginning, 12, 4));
    facts.bytes_used = little(beginning, 40, 8);
    if (facts.block_bytes < least_block || facts.block_bytes > most_block || !std::has_single_bit(facts.block_bytes) ||
        1ULL << (little(beginning, 22, 2) & 63) != facts.block_bytes)
        return no_image(fmt::format("a block size of {} bytes", facts.block_bytes));
    // A file may be padded, to 4 KiB by mksquashfs; it is never shorter.
    if (facts.bytes_used < superblock_bytes || facts.bytes_used > file_bytes)
        return no_image(fmt::format("it says that it has {} bytes, and has {}", facts.bytes_used, file_bytes));
    if (facts.inodes == 0)
        return no_image("it holds nothing");
    return facts;
}

result<uint64_t> unpacked_bytes(std::string_view listing) {
    // "-rw-r--r-- 0/0                 3 2026-12-01 04:26 squashfs-root/a"
    uint64_t sum = 0;
    for (const std::string& line : split(listing, '\n')) {
        if (!line.starts_with('-'))
            continue;
        const auto owner = line.find_first_not_of(' ', line.find(' '));
        const auto size = line.find_first_not_of(' ', line.find(' ', owner));
        const auto end = line.find(' ', size);
        if (owner == std::string::npos || size == std::string::npos || end == std::string::npos)
            return no_image("its list of files cannot be read");
        const std::optional<uint64_t> bytes = parse_number(std::string_view(line).substr(size, end - size));
        if (!bytes || sum + *bytes < sum)
            return no_image("its list of files cannot be read");
        sum += *bytes;
    }
    return sum;
}

} // namespace amd_gpu
