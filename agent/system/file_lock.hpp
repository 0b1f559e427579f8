// A lock that processes and threads of one node take in turn (flock).
#pragma once

#include "result.hpp"
#include "system/deadline.hpp"
#include "system/fd.hpp"

#include <string>
#include <sys/types.h>

namespace amd_gpu {

/// A lock on a file, held until it is destroyed, against threads of this process as well as against others.
class file_lock {
  public:
    enum class kind { shared, alone };
    file_lock(file_lock&&) noexcept = default;
    file_lock& operator=(file_lock&&) = delete;
    ~file_lock();
    /// Takes the lock, and makes its file, with that mode. Errors: timed_out, or the file cannot be made.
    static result<file_lock> take(const std::string& path, kind how, deadline until, mode_t mode = 0600);
    /// Removes the file while the lock on it is held: whoever waits for it takes it on a new one.
    void remove();

  private:
    file_lock(std::string path, unique_fd file)
        : path_(std::move(path))
        , file_(std::move(file)) {}
    std::string path_;
    unique_fd file_;
};

} // namespace amd_gpu
