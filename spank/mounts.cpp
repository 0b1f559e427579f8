#include "spank/mounts.hpp"

#include <cerrno>
#include <cstring>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

error failed(const std::string& what) {
    return {error_code::internal, what + ": " + ::strerror(errno)};
}

bool is_directory(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

} // namespace

status mount_for_task(const std::vector<mount_request>& mounts) {
    if (mounts.empty())
        return success();
    for (const auto& one : mounts)
        if (!is_directory(one.target))
            return error{error_code::not_found,
                         "the software must lie at " + one.target +
                             ", and this node has no such directory; an administrator can make it"};
    if (::unshare(CLONE_NEWNS) != 0)
        return failed("a mount namespace of the task's own");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
        return failed("/ as a slave");
    for (const auto& one : mounts) {
        if (::mount(one.source.c_str(), one.target.c_str(), nullptr, MS_BIND, nullptr) != 0)
            return failed(one.source + " at " + one.target);
        // A bind mount takes its flags only when it is there.
        if (::mount(nullptr, one.target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV,
                    nullptr) != 0)
            return failed(one.target + " read-only");
    }
    return success();
}

} // namespace amd_gpu
