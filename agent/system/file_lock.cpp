#include "system/file_lock.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

namespace amd_gpu {

using namespace std::chrono_literals;

result<file_lock> file_lock::take(const std::string& path, kind how, deadline until, mode_t mode) {
    const int operation = (how == kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    for (auto pause = 1ms;;) {
        unique_fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode));
        if (!file)
            return system_error(errno, path);
        while (::flock(file.get(), operation) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR)
                return system_error(errno, path);
            if (until.passed())
                return error{error_code::timed_out, path + " is locked"};
            std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(pause, until.left()));
            pause = std::min(2 * pause, 50ms);
        }
        // Whoever had it may have removed the file; then this lock keeps nobody away.
        struct stat locked{};
        struct stat named{};
        if (::fstat(file.get(), &locked) == 0 && ::lstat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
            locked.st_dev == named.st_dev)
            return file_lock(path, std::move(file));
    }
}

file_lock::~file_lock() {
    // Closing is not enough: a child between fork and exec has the same open file for a moment.
    if (file_)
        ::flock(file_.get(), LOCK_UN);
}

void file_lock::remove() {
    ::unlink(path_.c_str());
}

} // namespace amd_gpu
