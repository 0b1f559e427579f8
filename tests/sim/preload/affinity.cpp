// sched_setaffinity and its relatives for CPUs that the host lacks: the kernel is asked for what it can give (and for
// its opinion on rights and existence), the mask itself is kept on record. Must not change anything outside a simulated
// node.
#include "tests/sim/preload/records.hpp"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using sim::preload::mask;

pid_t own_tid() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

bool empty(const mask& m) {
    for (const unsigned char byte : m.bits) {
        if (byte != 0) {
            return false;
        }
    }
    return true;
}

/// Before the main thread changes its mask: the others, which so far share it by having no record, get one of their
/// own.
void settle_other_threads(pid_t process) {
    const mask shared = sim::preload::effective(process);
    const int directory = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_CLOEXEC));
    char buffer[2048];
    struct listed { // struct linux_dirent64, getdents(2)
        std::uint64_t inode;
        std::int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[1];
    };
    for (long count = 0; directory >= 0 && (count = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0;) {
        for (long at = 0; at < count;) {
            listed entry{};
            std::memcpy(&entry, buffer + at, offsetof(listed, name));
            pid_t tid = 0;
            for (const char* digit = buffer + at + offsetof(listed, name); *digit >= '0' && *digit <= '9'; ++digit) {
                tid = tid * 10 + (*digit - '0');
            }
            mask own;
            if (tid > 0 && tid != process && !sim::preload::recorded(tid, own)) {
                sim::preload::record(tid, shared);
            }
            at += entry.length;
        }
    }
    if (directory >= 0) {
        close(directory);
    }
}

/// As sched_setaffinity(2); returns an error number or 0.
int set(pid_t tid, std::size_t size, const cpu_set_t* wanted) {
    const auto ask = [&](std::size_t bytes, const void* bits) {
        return syscall(SYS_sched_setaffinity, tid, bytes, bits) == 0 ? 0 : errno;
    };
    if (sim::preload::cpus() == 0) {
        return ask(size, wanted);
    }
    mask cut;
    std::memcpy(cut.bits, wanted, size < sizeof cut.bits ? size : sizeof cut.bits);
    const mask known = sim::preload::effective(1); // every CPU of the node
    for (std::size_t i = 0; i < sizeof cut.bits; ++i) {
        cut.bits[i] = cut.bits[i] & known.bits[i];
    }
    int refused = ask(size, wanted);
    if (refused == EINVAL && !empty(cut)) { // no such CPU on the host: any of the host's will do
        mask all;
        std::memset(all.bits, 0xff, sizeof all.bits);
        refused = ask(sizeof all.bits, all.bits);
    }
    if (refused != 0 || empty(cut)) {
        return refused != 0 ? refused : EINVAL;
    }
    const pid_t target = tid == 0 ? own_tid() : tid;
    if (target == getpid()) {
        settle_other_threads(target);
    }
    return sim::preload::record(target, cut) ? 0 : EINVAL;
}

/// As sched_getaffinity(3) of the C library, which clears what the kernel does not fill; returns an error number or 0.
int get(pid_t tid, std::size_t size, cpu_set_t* found) {
    mask real;
    const long bytes = syscall(SYS_sched_getaffinity, tid, sizeof real.bits, real.bits);
    if (bytes < 0) {
        return errno;
    }
    const int cpus = sim::preload::cpus();
    if (size * 8 < static_cast<std::size_t>(cpus)) {
        return EINVAL;
    }
    const mask shown = cpus == 0 ? real : sim::preload::effective(tid == 0 ? own_tid() : tid);
    std::memset(found, 0, size);
    std::memcpy(found, shown.bits, size < sizeof shown.bits ? size : sizeof shown.bits);
    return 0;
}

/// The kernel's number of a thread of this process. The clock of a thread holds it (clock_gettime(2), CPUCLOCK macros).
pid_t tid_of(pthread_t thread) {
    clockid_t clock = 0;
    if (pthread_equal(thread, pthread_self()) != 0) {
        return own_tid();
    }
    return pthread_getcpuclockid(thread, &clock) == 0 ? ~(clock >> 3) : -1;
}

/// Own mask at the moment of a fork, for the child: the child's parent may change its own right after.
thread_local mask at_fork __attribute__((tls_model("initial-exec")));
thread_local bool has_mask __attribute__((tls_model("initial-exec")));

void before_fork() {
    has_mask = sim::preload::recorded(own_tid(), at_fork);
}
void in_child() {
    if (has_mask) {
        sim::preload::record(own_tid(), at_fork);
    }
}

/// A program that was started without fork's handlers (vfork, posix_spawn) inherits here; one that was not has a
/// record.
__attribute__((constructor)) void start() {
    if (sim::preload::cpus() == 0) {
        return;
    }
    const int kept_errno = errno;
    mask inherited;
    if (!sim::preload::recorded(getpid(), inherited) && sim::preload::recorded(getppid(), inherited)) {
        sim::preload::record(getpid(), inherited);
    }
    pthread_atfork(before_fork, nullptr, in_child);
    errno = kept_errno;
}

__attribute__((destructor)) void finish() {
    if (sim::preload::cpus() != 0) {
        sim::preload::forget(getpid());
    }
}

int with_errno(int refused) {
    if (refused != 0) {
        errno = refused;
    }
    return refused == 0 ? 0 : -1;
}

} // namespace

EXPORT int sched_setaffinity(pid_t tid, std::size_t size, const cpu_set_t* wanted) noexcept {
    return with_errno(set(tid, size, wanted));
}

EXPORT int sched_getaffinity(pid_t tid, std::size_t size, cpu_set_t* found) noexcept {
    return with_errno(get(tid, size, found));
}

EXPORT int pthread_setaffinity_np(pthread_t thread, std::size_t size, const cpu_set_t* wanted) noexcept {
    const pid_t tid = tid_of(thread);
    return tid < 0 ? ESRCH : set(tid, size, wanted);
}

EXPORT int pthread_getaffinity_np(pthread_t thread, std::size_t size, cpu_set_t* found) noexcept {
    const pid_t tid = tid_of(thread);
    return tid < 0 ? ESRCH : get(tid, size, found);
}
