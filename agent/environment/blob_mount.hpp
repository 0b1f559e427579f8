// Mounting images. A mount or unmount can hang in the kernel, so that each is made by a child: this program again, with
// the hidden command `mount-blob`.
#pragma once

#include "environment/blob_place.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Mounts a squashfs image read-only, without set-user-ID programs and devices. Its loop device goes with the mount,
/// and with whoever made it if that ends before. Errors: unsupported (the kernel has no squashfs or no loop devices),
/// peer (the kernel refuses the image), internal (it
/// hangs, too).
status mount_image(const std::string& image, const std::string& directory, deadline until);

/// Unmounts what is mounted there and removes the directory. False: somebody still uses it. Errors: as above.
result<bool> unmount_image(const std::string& directory, deadline until);

/// Whether a squashfs is mounted exactly there.
bool is_mounted(const std::string& directory);

/// A mount point in /proc/self/mountinfo.
struct mount_entry {
    std::string directory;
    std::string source; ///< "/dev/loop0"
};
/// The mounts in one directory, in the order of the text, which is that of /proc/self/mountinfo
/// (proc_pid_mountinfo(5)).
std::vector<mount_entry> mounts_in(std::string_view mountinfo, const std::string& directory);

/// What `mount-blob` does. Gives an exit status; what is wrong goes to standard error.
int mount_blob_child(const std::string& image, const std::string& directory);
int unmount_blob_child(const std::string& directory);

} // namespace amd_gpu
