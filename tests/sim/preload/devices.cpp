// open and its relatives for the device nodes of a simulated node. No driver stands behind them, so that the kernel
// says ENXIO once the device cgroup has let the process through: that one failure becomes an open file. A refusal by
// the cgroup (EPERM) and a missing node (ENOENT) stay what they are.
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr unsigned drm_major = 120;
constexpr unsigned kfd_major = 121;

int open_at(int directory, const char* path, int flags, mode_t mode) {
    const int file = static_cast<int>(syscall(SYS_openat, directory, path, flags, mode));
    if (file >= 0 || errno != ENXIO) {
        return file;
    }
    struct stat node{};
    const bool known = fstatat(directory, path, &node, 0) == 0 && S_ISCHR(node.st_mode) &&
                       (major(node.st_rdev) == drm_major || major(node.st_rdev) == kfd_major);
    const int stand_in = flags & (O_ACCMODE | O_CLOEXEC | O_NONBLOCK);
    const int null = known ? static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", stand_in)) : -1;
    if (null < 0) {
        errno = ENXIO;
    }
    return null;
}

} // namespace

// The C library declares these functions with attributes and aliases of its own; under other names in this file, ours
// need not agree with every version of those. The optional third argument is declared as if it were always given: on
// x86-64 it then holds whatever the register did, and the kernel looks at it only when a file is made.
#define FRONT(name) __asm__(name)

EXPORT int front_open(const char* path, int flags, mode_t mode) FRONT("open");
EXPORT int front_open64(const char* path, int flags, mode_t mode) FRONT("open64");
EXPORT int front_openat(int directory, const char* path, int flags, mode_t mode) FRONT("openat");
EXPORT int front_openat64(int directory, const char* path, int flags, mode_t mode) FRONT("openat64");
EXPORT int front_open_2(const char* path, int flags) FRONT("__open_2");
EXPORT int front_open64_2(const char* path, int flags) FRONT("__open64_2");
EXPORT int front_openat_2(int directory, const char* path, int flags) FRONT("__openat_2");
EXPORT int front_openat64_2(int directory, const char* path, int flags) FRONT("__openat64_2");

int front_open(const char* path, int flags, mode_t mode) {
    return open_at(AT_FDCWD, path, flags, mode);
}
int front_open64(const char* path, int flags, mode_t mode) {
    return open_at(AT_FDCWD, path, flags, mode);
}
int front_openat(int directory, const char* path, int flags, mode_t mode) {
    return open_at(directory, path, flags, mode);
}
int front_openat64(int directory, const char* path, int flags, mode_t mode) {
    return open_at(directory, path, flags, mode);
}
int front_open_2(const char* path, int flags) {
    return open_at(AT_FDCWD, path, flags, 0);
}
int front_open64_2(const char* path, int flags) {
    return open_at(AT_FDCWD, path, flags, 0);
}
int front_openat_2(int directory, const char* path, int flags) {
    return open_at(directory, path, flags, 0);
}
int front_openat64_2(int directory, const char* path, int flags) {
    return open_at(directory, path, flags, 0);
}
