#include "spank/devices.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr uint32_t first_render_minor = 128; // Linux drm_drv.c
constexpr uint32_t render_minor_limit = 512;

bool can_open_minor(uint32_t minor) {
    const std::string path = "/dev/dri/renderD" + std::to_string(minor);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        ::close(fd);
    return fd >= 0 || (errno != EPERM && errno != EACCES && errno != ENOENT);
}

bool can_open(const granted_gcd& die) {
    return !die.render_minor || can_open_minor(*die.render_minor); // without a device node a cgroup can deny nothing
}

} // namespace

std::vector<uint32_t> open_render_minors() {
    std::vector<uint32_t> minors;
    for (uint32_t minor = first_render_minor; minor < render_minor_limit; ++minor)
        if (can_open_minor(minor))
            minors.push_back(minor);
    return minors;
}

std::vector<granted_gcd> openable(const std::vector<granted_gcd>& gcds) {
    std::vector<granted_gcd> open;
    std::copy_if(gcds.begin(), gcds.end(), std::back_inserter(open), can_open);
    return open;
}

std::string why_closed(const std::vector<granted_gcd>& gcds) {
    for (const auto& die : gcds)
        if (die.render_minor && !can_open_minor(*die.render_minor) && errno == EACCES)
            return "the GPUs cannot be opened: the file modes of /dev/dri/renderD" + std::to_string(*die.render_minor) +
                   " keep this user out (an administrator adds users to its group, or opens it to all)";
    return "none of the GPUs that were prepared can be opened here; an administrator can compare gres.conf with: "
           "amd-gpu-agent slurm-config";
}

device_fence fence_around(const std::vector<granted_gcd>& open) {
    device_fence fence;
    for (uint32_t minor = first_render_minor; minor < render_minor_limit; ++minor) {
        const auto same = [&](const granted_gcd& die) { return die.render_minor == minor; };
        if (std::any_of(open.begin(), open.end(), same))
            continue;
        if (can_open_minor(minor))
            fence.others_open = true;
        else if (errno != ENOENT)
            fence.others_closed = true;
    }
    return fence;
}

} // namespace amd_gpu
