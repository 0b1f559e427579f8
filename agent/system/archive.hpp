// Archives of small files (.tar.gz), whole in memory: libarchive's handles stay inside. What is read is somebody else's
// and trusted in nothing: neither names nor links lead out of the archive's own tree, and sizes are bounded.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

struct archive_entry {
    enum class kind { directory, file, link };
    kind what = kind::file;
    std::string path;    ///< relative, without "." and ".."
    std::string content; ///< of a file; of a link, what it points to

    bool operator==(const archive_entry&) const = default;
};

/// What an archive may hold at most.
struct archive_limits {
    std::size_t entries = 200000;
    std::size_t file_bytes = 1U << 20;
    std::size_t total_bytes = 256U << 20; ///< of all files together, unpacked
};

/// The bytes of a .tar.gz with the entries in their order, owned by root and dated `when` (seconds since 1970).
/// Error (internal): libarchive fails.
result<std::string> pack(const std::vector<archive_entry>& entries, int64_t when);

/// Reads such bytes, compressed or not. Errors (usage): no tar, more than the limits allow, an entry that is neither
/// directory, file nor symbolic link, a name or a link that leads out of the tree, an entry below a link.
result<std::vector<archive_entry>> unpack(std::string_view bytes, const archive_limits& limits = {});

} // namespace amd_gpu
