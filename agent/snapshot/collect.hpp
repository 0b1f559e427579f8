// What discovery, hwloc and rocm_smi read of a node, as entries of an archive: files and links of /sys and /proc under
// the paths that they have there. It knows which files those are; nothing else is ever read. Names and addresses of
// networks, command lines, processes and the machine's own serial numbers are not among them.
#pragma once

#include "discovery/sysfs.hpp"
#include "system/archive.hpp"
#include "system/deadline.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// A file that is there and could not be read.
struct unreadable_file {
    std::string path;
    std::string reason; ///< "Permission denied"; "does not answer" for one that hangs

    bool operator==(const unreadable_file&) const = default;
};

struct node_files {
    std::vector<archive_entry> entries; ///< in order of path: "sys/...", "proc/..."
    std::vector<unreadable_file> unreadable;
};

/// Reads the files of a node. The driver's own files of a GPU may ask its firmware and hang with it: a child per GPU
/// reads those, each within `limit_per_gpu`, all within `until`. `reader` is the command line of that child, to which
/// the GPU's directory is added: the hidden command read-gpu-files of this program, or what a test puts in its place.
/// Error (not_found): there is no /sys.
result<node_files> collect_node_files(const sysfs& where, const std::vector<std::string>& reader,
                                      std::chrono::milliseconds limit_per_gpu, deadline until);

/// What the child does: reads the driver's files of the GPU in `directory` and prints a line before and after each.
/// Returns the exit status.
int read_gpu_files(const std::string& directory);

/// The files that such lines tell of; their paths are relative to the GPU's directory. A file that was begun and not
/// ended hangs. Lines that make no sense are left out.
node_files parse_gpu_files(std::string_view lines);

} // namespace amd_gpu
