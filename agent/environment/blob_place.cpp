#include "environment/blob_place.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace amd_gpu {
namespace {

struct file_system {
    uint64_t magic;
    std::string_view name;
};

constexpr std::array shared_file_systems = {
    file_system{0x6969, "NFS"},          file_system{0x517B, "SMB"},        file_system{0xFF534D42, "CIFS"},
    file_system{0xFE534D42, "SMB"},      file_system{0x0BD00BD0, "Lustre"}, file_system{0x47504653, "GPFS"},
    file_system{0x00C36400, "Ceph"},     file_system{0x19830326, "BeeGFS"}, file_system{0xAAD7AAEA, "PanFS"},
    file_system{0x20030528, "OrangeFS"}, file_system{0x5346414F, "AFS"},    file_system{0x6B414653, "AFS"},
    file_system{0x73757245, "Coda"},     file_system{0x01021997, "9P"},     file_system{0x65735546, "FUSE"},
    file_system{0x786F4256, "vboxsf"},   file_system{0xBACBACBC, "vmhgfs"},
};

/// Who else could change what lies at this path; empty when nobody but its owner. In a sticky directory, such as /tmp,
/// nobody can rename what belongs to others.
std::string distrust(const std::string& path, bool sticky_will_do) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0)
        return system_error(errno, path).what;
    if (!S_ISDIR(info.st_mode))
        return path + " is no directory";
    if (info.st_uid != ::geteuid() && info.st_uid != 0)
        return fmt::format("{} belongs to uid {}, not to root", path, info.st_uid);
    const bool sticky = sticky_will_do && (info.st_mode & S_ISVTX) != 0;
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)
        return fmt::format("{} may be written by others than root", path);
    return {};
}

error no_place(const std::string& why) {
    return {error_code::configuration, "[cache] directory: " + why};
}

result<std::string> real_path(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    if (!real)
        return system_error(errno, path);
    return std::string(real.get());
}

status make_part(const std::string& path, mode_t mode) {
    if (::mkdir(path.c_str(), mode) == 0) {
        if (::chmod(path.c_str(), mode) != 0) // whatever the umask is
            return system_error(errno, path);
    } else if (errno != EEXIST) {
        return system_error(errno, path);
    }
    if (const std::string problem = distrust(path, /*sticky_will_do=*/false); !problem.empty())
        return no_place(problem);
    return success();
}

} // namespace

std::string_view shared_file_system(uint64_t magic) {
    const auto* found = std::find_if(shared_file_systems.begin(), shared_file_systems.end(),
                                     [&](const file_system& one) { return one.magic == magic; });
    return found == shared_file_systems.end() ? std::string_view{} : found->name;
}

std::string path_problem(std::string_view real_path) {
    for (const std::string_view memory : {"/run", "/dev/shm"})
        if (real_path == memory || (real_path.starts_with(memory) && real_path.substr(memory.size()).starts_with('/')))
            return fmt::format("{} lies in {}, which is memory for small files; images need a disk of this node",
                               real_path, memory);
    return {};
}

result<blob_place> open_blob_place(const std::string& directory) {
    if (const status made = make_directories(directory, 0755); !made)
        return made.failure().within("[cache] directory");
    const result<std::string> real = real_path(directory);
    if (!real)
        return real.failure();
    if (const std::string problem = path_problem(*real); !problem.empty())
        return no_place(problem);
    struct statfs info{};
    if (::statfs(real->c_str(), &info) != 0)
        return system_error(errno, *real);
    // The number is signed on some architectures and 32 bits wide on all.
    if (const auto name = shared_file_system(static_cast<uint32_t>(info.f_type)); !name.empty())
        return no_place(
            fmt::format("{} lies on {}, which other nodes may share; images need a disk of this node", *real, name));
    for (std::size_t end = 1; end != std::string::npos && end < real->size(); end = real->find('/', end + 1))
        if (const std::string problem = distrust(end == 1 ? "/" : real->substr(0, end), /*sticky_will_do=*/true);
            !problem.empty())
            return no_place(problem);
    if (const std::string problem = distrust(*real, /*sticky_will_do=*/false); !problem.empty())
        return no_place(problem);

    blob_place place{*real};
    for (const auto& [path, mode] : {std::pair<std::string, mode_t>{place.top + "/blobs", 0755},
                                     {place.blobs(), 0755},
                                     {place.partials(), 0700},
                                     {place.mounts(), 0755},
                                     {place.unpacks(), 0755},
                                     {place.pins(), 0700},
                                     {place.top + "/locks", 0700}})
        if (const status made = make_part(path, mode); !made)
            return made.failure();
    return place;
}

} // namespace amd_gpu
