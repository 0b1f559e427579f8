// Files of CPU masks. A record carries the start time of its thread, so that one left behind by a dead thread whose
// number was given out again counts for nothing.
#include "tests/sim/preload/records.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sim::preload {
namespace {

constexpr char home[] = "/run/amd-gpu-sim/";
constexpr int most_ancestors = 32;

struct entry {
    std::uint64_t start = 0; ///< in clock ticks after boot, as /proc/TID/stat has it
    mask value;
};

/// Keeps errno as it was for the caller of the function that we stand in front of.
class errno_guard {
  public:
    errno_guard()
        : saved_(errno) {}
    ~errno_guard() { errno = saved_; }
    errno_guard(const errno_guard&) = delete;
    errno_guard& operator=(const errno_guard&) = delete;

  private:
    int saved_;
};

/// A short path, put together without the heap.
class path {
  public:
    path& add(const char* text) {
        while (*text != '\0' && length_ + 1 < sizeof text_) {
            text_[length_++] = *text++;
        }
        text_[length_] = '\0';
        return *this;
    }
    path& add(pid_t number) {
        char digits[16];
        std::size_t at = sizeof digits;
        digits[--at] = '\0';
        do {
            digits[--at] = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number > 0 && at > 0);
        return add(digits + at);
    }
    [[nodiscard]] const char* text() const { return text_; }

  private:
    char text_[96] = {};
    std::size_t length_ = 0;
};

int open_quietly(const char* name, int flags) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, flags | O_CLOEXEC | O_NOFOLLOW, 0666));
}

ssize_t read_whole(const char* name, void* buffer, std::size_t size) {
    const int file = open_quietly(name, O_RDONLY);
    if (file < 0) {
        return -1;
    }
    const ssize_t count = read(file, buffer, size);
    close(file);
    return count;
}

/// Field NUMBER (4: parent, 22: start time; proc(5)) of /proc/TID/stat; 0 when there is no such thread.
std::uint64_t stat_field(pid_t tid, int number) {
    char text[512];
    const ssize_t count = read_whole(path().add("/proc/").add(tid).add("/stat").text(), text, sizeof text - 1);
    if (count <= 0) {
        return 0;
    }
    text[count] = '\0';
    const char* at = std::strrchr(text, ')'); // the name, field 2, may hold anything
    for (int field = 2; at != nullptr && field < number; ++field) {
        at = std::strchr(at + 1, ' ');
    }
    std::uint64_t value = 0;
    for (; at != nullptr && at[1] >= '0' && at[1] <= '9'; ++at) {
        value = value * 10 + static_cast<std::uint64_t>(at[1] - '0');
    }
    return value;
}

/// The process that thread TID belongs to; 0 when there is none.
pid_t process_of(pid_t tid) {
    char text[1024];
    const ssize_t count = read_whole(path().add("/proc/").add(tid).add("/status").text(), text, sizeof text - 1);
    if (count <= 0) {
        return 0;
    }
    text[count] = '\0';
    const char* at = std::strstr(text, "\nTgid:\t");
    pid_t value = 0;
    for (at = at == nullptr ? "" : at + 7; *at >= '0' && *at <= '9'; ++at) {
        value = value * 10 + (*at - '0');
    }
    return value;
}

path record_of(pid_t tid) {
    return path().add(home).add("affinity/").add(tid);
}

} // namespace

int cpus() {
    static int known = -1; // written twice with the same value at worst
    if (known < 0) {
        const errno_guard keep;
        char text[16] = {};
        int value = 0;
        if (read_whole(path().add(home).add("cpus").text(), text, sizeof text - 1) > 0) {
            for (const char* at = text; *at >= '0' && *at <= '9'; ++at) {
                value = value * 10 + (*at - '0');
            }
        }
        known = value <= static_cast<int>(mask_bytes * 8) ? value : 0;
    }
    return known;
}

bool recorded(pid_t tid, mask& found) {
    const errno_guard keep;
    entry kept;
    if (read_whole(record_of(tid).text(), &kept, sizeof kept) != static_cast<ssize_t>(sizeof kept) ||
        kept.start != stat_field(tid, 22)) {
        return false;
    }
    found = kept.value;
    return true;
}

mask effective(pid_t tid) {
    const errno_guard keep;
    mask found;
    pid_t at = tid;
    for (int i = 0; i < most_ancestors && at > 1; ++i) {
        if (recorded(at, found)) {
            return found;
        }
        const pid_t process = process_of(at);
        at = process != at ? process : static_cast<pid_t>(stat_field(at, 4));
    }
    for (int cpu = 0; cpu < cpus(); ++cpu) {
        found.bits[cpu / 8] = static_cast<unsigned char>(found.bits[cpu / 8] | 1U << (cpu % 8));
    }
    return found;
}

bool record(pid_t tid, const mask& wanted) {
    const errno_guard keep;
    const entry kept{stat_field(tid, 22), wanted};
    const path name = record_of(tid);
    // The owner may differ from us: a step daemon sets the mask of a user's task, which then sets its own. So the file
    // is everybody's and is written in place. Opened without O_CREAT first, which the kernel may refuse on others'
    // files.
    int file = open_quietly(name.text(), O_WRONLY);
    if (file < 0) {
        file = open_quietly(name.text(), O_WRONLY | O_CREAT);
        if (file >= 0) {
            fchmod(file, 0666); // whatever the umask is
        }
    }
    if (file < 0) {
        return false;
    }
    const bool whole = write(file, &kept, sizeof kept) == static_cast<ssize_t>(sizeof kept);
    close(file);
    return whole;
}

void forget(pid_t tid) {
    const errno_guard keep;
    unlink(record_of(tid).text());
}

} // namespace sim::preload
