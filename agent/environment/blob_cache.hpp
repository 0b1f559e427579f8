// Images of software on a disk of this node: fetched once whoever asks, checked, mounted once, kept while a job uses
// them and, within a limit, afterwards. What must outlive the agent lies in files, so that a new one finds it:
//
//     CACHE/blobs/sha256/HEX   images that are whole, root's, 0444; their time is that of their last use
//     CACHE/partial/HEX        what has come so far of others
//     CACHE/mounts/HEX         where an image is mounted, for all jobs of the node
//     CACHE/pins/JOB.HEX       a job uses an image; the target of the link is the boot it began in
//     CACHE/locks/             held (flock) while the files of an image, or all of the above, change
#pragma once

#include "environment/provider.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace amd_gpu {

/// An image and where it can be had.
struct blob_source {
    std::string sha256;
    uint64_t bytes = 0;
    std::vector<std::string> urls; ///< of the mirrors, without the path of the blob
};

/// Downloads an image into an existing file of root's, going on where an earlier try stopped; what it writes is checked
/// once more by whoever calls. Errors: of the server (peer, not_found), no room (internal), too late (timed_out).
using blob_fetcher =
    std::function<status(const blob_source& what, const std::string& partial, deadline until, const progress& say)>;

class blob_cache {
  public:
    /// `site` must outlive it. Touches nothing yet.
    blob_cache(const settings& site, blob_fetcher fetch);
    /// The same, with images from web servers.
    explicit blob_cache(const settings& site);
    blob_cache(const blob_cache&) = delete;
    blob_cache& operator=(const blob_cache&) = delete;
    /// Ends checks that still run and waits for fetches until their deadline. Mounts and pins stay.
    ~blob_cache();

    /// Cleans up after an agent that ended, at start, if there ever was a cache: drops pins of earlier boots, partial
    /// files that no job waits for and mounts without an image. Errors (configuration): the directory is no place for a
    /// cache: on a network file system, in /run, or others may write into it.
    status recover(deadline until);
    /// Makes an image local, mounts it and keeps it for a job, until release(), also when this fails. Gives the
    /// directory where it is mounted. However many jobs ask, it is fetched once and mounted once. Errors, none of them
    /// the job's: no server gives it (peer, not_found), it is not what the index says (peer), the directory is no
    /// place for a cache (configuration), no room (internal), too late (timed_out; what was fetched stays for the next
    /// try).
    result<std::string> hold(const blob_source& what, uint32_t job, deadline until, const progress& say);
    /// Forgets what a job held.
    void release(uint32_t job);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace amd_gpu
