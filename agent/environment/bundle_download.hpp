// Fetching files of a bundle tree from its mirrors: a child without privileges talks to the servers, and writes into a
// file that it is handed open. Nothing that a server sends is looked at by the agent itself before its hash is right.
#pragma once

#include "environment/blob_cache.hpp"
#include "environment/provider.hpp"
#include "system/download.hpp"

namespace amd_gpu {

/// Where the blob of that hash lies below the address of a tree: "blobs/sha256/HEX".
std::string blob_path(const std::string& sha256);

/// Downloads an image into the file `partial`, going on where an earlier try of it stopped. The child checks its size
/// and its hash, for it asks the next mirror when they are wrong; whoever calls checks them before the image is used.
/// Errors, none of them the job's: no server gives it (peer, not_found), what they give is not what the index says
/// (peer), no room (internal), too late (timed_out; what came so far stays in the file).
status download_blob(const settings& site, const blob_source& what, const std::string& partial, deadline until,
                     const progress& say);

/// Downloads a file of at most `most` bytes, whose content nobody announced, from one address, and gives its content.
result<std::string> download_text(const settings& site, const std::string& url, std::size_t most, deadline until,
                                  const progress& say);

} // namespace amd_gpu
