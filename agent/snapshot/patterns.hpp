// Paths by shell patterns, and one path as an entry: the reading that both sides of collecting share.
#pragma once

#include "system/archive.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// More is not taken of a file. Those of /sys have at most some pages; the longest of all is /proc/cpuinfo, with about
/// 1.5 kB for each hardware thread.
inline constexpr std::size_t snapshot_file_limit = 1U << 20;

/// The paths below a directory that match a pattern of glob(3), braces included, sorted; those of the directory itself
/// when the pattern is empty. A directory whose own name has a pattern's characters has none.
std::vector<std::string> matches(const std::string& directory, const std::string& pattern);

/// A path as what it is, a link as a link. Errors: those of open and read; unsupported for a file that is too large or
/// neither directory nor file nor link.
result<archive_entry> read_path(const std::string& path);

/// The words of an error without the path that it begins with.
std::string reason_of(const error& failure, const std::string& path);

} // namespace amd_gpu
