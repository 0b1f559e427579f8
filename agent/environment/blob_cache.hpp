// Images of software on a disk of this node: fetched once whoever asks, checked, mounted once, kept while a job uses
// them and, within a limit, afterwards.
#pragma once

#include "environment/provider.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace amd_gpu {

/// An image and where it can be had.
struct blob_source {
    std::string sha256;
    uint64_t bytes = 0;
    std::vector<std::string> urls; ///< of the mirrors, without the path of the blob
};

class blob_cache {
  public:
    explicit blob_cache(const settings& site);
    blob_cache(const blob_cache&) = delete;
    blob_cache& operator=(const blob_cache&) = delete;
    ~blob_cache();

    /// Makes an image local, mounts it and keeps it for a job, until release(). Gives the directory where it is
    /// mounted. However many jobs ask, it is fetched once and mounted once. Errors, none of them the job's: no server
    /// gives it (peer, not_found), it is not what the index says (peer), no room (internal), too late (timed_out; what
    /// was fetched stays for the next try).
    result<std::string> hold(const blob_source& what, uint32_t job, deadline until, const progress& say);
    /// Forgets what a job held.
    void release(uint32_t job);

  private:
    const settings& site_;
};

} // namespace amd_gpu
