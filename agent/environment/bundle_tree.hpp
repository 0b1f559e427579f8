// The tree of images that a web server serves: index.json, its signature, and blobs/sha256/HEX. Made on one machine,
// copied to any number of mirrors as it is.
#pragma once

#include "environment/provider.hpp"
#include "system/minisign.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace amd_gpu {

/// What an image is made from.
struct image_source {
    std::string environment;
    std::vector<target_id> targets; ///< sorted, each once
    std::string directory;          ///< becomes the root of the image
    std::string mount_point;        ///< of software that works at this path only; empty: anywhere
    std::vector<edit> edits;
    bool suggests_edits = true;
    bool fixed_times = false; ///< all files get the time 0, so that two copies of a directory give the same image
    std::string program = "/usr/bin/mksquashfs";
};

/// Makes an image of a directory and adds it to the index of the tree, in place of the one of the same environment and
/// targets. The tree is made when it does not exist; an index that is there must be signed by the same key. Gives the
/// variant. Errors (usage): something is wrong with what was asked for, the index is another's; (not_found): no
/// program, no directory; (internal): the program fails, no room; (timed_out).
result<variant> add_image(const std::string& tree, const image_source& from, const signing_key& key,
                          std::chrono::seconds valid_for, deadline until, const progress& say);

/// Signs the index anew, with a higher version and a later end. Gives the end, in seconds since 1970. Errors as above.
result<int64_t> sign_tree(const std::string& tree, const signing_key& key, std::chrono::seconds valid_for,
                          deadline until);

} // namespace amd_gpu
