// One request of a download: what a server answered, judged. Inside of download.cpp, apart for its size.
#pragma once

#include "system/download.hpp"
#include "system/sha256.hpp"

#include <optional>

namespace amd_gpu {

/// The file that is being filled, with the hash of what it holds.
class download_file {
  public:
    /// `open_at`: open for reading and writing; stays the caller's.
    explicit download_file(int open_at)
        : file_(open_at) {}

    /// Takes what the file holds already as the beginning.
    status resume();
    /// Empties it.
    status restart();
    status append(std::string_view bytes);
    [[nodiscard]] uint64_t size() const { return size_; }
    /// Of all that was appended; nothing may be appended afterwards, short of a restart().
    std::string hash() { return sum_.digits(); }

  private:
    int file_;
    uint64_t size_ = 0;
    sha256 sum_;
};

/// How one request ended.
struct download_attempt {
    enum class verdict {
        done,
        again, ///< may go better next time
        never, ///< this server does not have it, or not what we want
        stop,  ///< no server could help: the disk is full
    };
    verdict what = verdict::again;
    error why;
    bool unreachable = false;            ///< no connection came about
    bool progressed = false;             ///< more of the file is there than before
    std::chrono::seconds retry_after{0}; ///< what the server asks for; 0: nothing
};

/// Asks one server once for what is missing of the file.
download_attempt attempt_download(const download_request& what, const std::string& url, download_file& to,
                                  deadline until, const download_listener& listener);

} // namespace amd_gpu
