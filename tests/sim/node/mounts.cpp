// Mount calls (see mounts.hpp). A directory that is about to be covered is reached through a handle taken before.
#include "tests/sim/node/mounts.hpp"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sim {
namespace {

using amd_gpu::error;
using amd_gpu::error_code;
using amd_gpu::success;

/// An open O_PATH handle whose path stays usable after something is mounted over it.
class handle {
  public:
    explicit handle(const std::string& path)
        : number_(open(path.c_str(), O_PATH | O_CLOEXEC)) {}
    handle(handle&& other) noexcept
        : number_(std::exchange(other.number_, -1)) {}
    handle& operator=(handle&&) = delete;
    handle(const handle&) = delete;
    handle& operator=(const handle&) = delete;
    ~handle() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    [[nodiscard]] bool good() const { return number_ >= 0; }
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }

  private:
    int number_;
};

status done(int rc, const std::string& what) {
    return rc == 0 ? success() : status(system_error(what));
}

/// One entry of a covered directory: links are copied, everything else is bound.
status keep_entry(const std::string& source, const std::string& target) {
    std::error_code failure;
    if (std::filesystem::is_symlink(source, failure)) {
        std::filesystem::copy_symlink(source, target, failure);
        return failure ? status(error{error_code::internal, "cannot copy the link " + target}) : success();
    }
    if (const status made = make_mount_point(source, target); !made) {
        return made;
    }
    return bind(source, target);
}

/// Where something is mounted below PATH.
std::vector<std::string> mounts_below(const std::string& path) {
    std::ifstream table("/proc/self/mountinfo");
    std::vector<std::string> found;
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string skipped, target;
        fields >> skipped >> skipped >> skipped >> skipped >> target;
        if (target.rfind(path + "/", 0) == 0) {
            found.push_back(target);
        }
    }
    return found;
}

} // namespace

amd_gpu::error system_error(const std::string& what) {
    const error_code code = errno == EPERM || errno == EACCES ? error_code::permission : error_code::internal;
    return {code, what + ": " + std::strerror(errno)};
}

status mount_tmpfs(const std::string& target, const std::string& options) {
    return done(mount("amd-gpu-sim", target.c_str(), "tmpfs", MS_NOSUID, options.c_str()), "tmpfs on " + target);
}

status bind(const std::string& source, const std::string& target) {
    return done(mount(source.c_str(), target.c_str(), nullptr, MS_BIND | MS_REC, nullptr),
                "cannot bind " + source + " to " + target);
}

status move_mount_to(const std::string& source, const std::string& target) {
    return done(mount(source.c_str(), target.c_str(), nullptr, MS_MOVE, nullptr),
                "cannot move the mount " + source + " to " + target);
}

status make_mount_point(const std::string& source, const std::string& target) {
    struct stat kind{};
    if (stat(source.c_str(), &kind) != 0) {
        return system_error(source);
    }
    std::error_code failure;
    const std::filesystem::path path(target);
    std::filesystem::create_directories(S_ISDIR(kind.st_mode) ? path : path.parent_path(), failure);
    if (failure) {
        return error{error_code::internal, "cannot make " + target + ": " + failure.message()};
    }
    if (!S_ISDIR(kind.st_mode)) {
        const int file = open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (file < 0) {
            return system_error("cannot make " + target);
        }
        close(file);
    }
    return success();
}

status cover_with_private_copy(const std::string& path, const std::string& except) {
    const handle old(path);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(path.c_str()), closedir);
    if (!old.good() || !entries) {
        return system_error(path);
    }
    if (const status covered = mount_tmpfs(path, "mode=755"); !covered) {
        return covered;
    }
    while (const dirent* entry = readdir(entries.get())) {
        const std::string name = entry->d_name;
        if (name == "." || name == ".." || name == except) {
            continue;
        }
        if (const status kept = keep_entry(old.path() + "/" + name, path + "/" + name); !kept) {
            return kept;
        }
    }
    return success();
}

status cover_with_overlay(const std::string& path, const std::string& layer) {
    std::vector<std::pair<std::string, handle>> below;
    for (const std::string& target : mounts_below(path)) { // a container's own resolv.conf and the like
        below.emplace_back(target, handle(target));
    }
    std::error_code failure;
    std::filesystem::create_directories(layer + "/upper", failure);
    std::filesystem::create_directories(layer + "/work", failure);
    const std::string options = "lowerdir=" + path + ",upperdir=" + layer + "/upper,workdir=" + layer + "/work";
    if (mount("overlay", path.c_str(), "overlay", 0, options.c_str()) != 0) {
        return system_error("cannot lay a private layer over " + path);
    }
    for (const auto& [target, kept] : below) {
        if (const status bound = bind(kept.path(), target); !bound) {
            return bound;
        }
    }
    return success();
}

} // namespace sim
