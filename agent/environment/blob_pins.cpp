#include "environment/blob_pins.hpp"

#include "environment/variant.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <unistd.h>

namespace amd_gpu {
namespace {

std::string path_of(const blob_place& place, const blob_pin& pin) {
    return fmt::format("{}/{}.{}", place.pins(), pin.job, pin.sha256);
}

/// "4711.HEX"
std::optional<blob_pin> parse_name(const std::string& name) {
    const auto dot = name.find('.');
    if (dot == std::string::npos)
        return std::nullopt;
    const auto job = parse_number(std::string_view(name).substr(0, dot));
    std::string sha256 = name.substr(dot + 1);
    if (!job || *job > std::numeric_limits<uint32_t>::max() || !is_sha256(sha256))
        return std::nullopt;
    return blob_pin{static_cast<uint32_t>(*job), std::move(sha256)};
}

} // namespace

std::string this_boot() {
    return read_line("/proc/sys/kernel/random/boot_id").value_or("");
}

// A pin is a symbolic link to the name of the boot, which leads nowhere: it is there as a whole or not at all, without
// a temporary file and without a wait for the disk.
status add_pin(const blob_place& place, const blob_pin& pin) {
    const std::string path = path_of(place, pin);
    const std::string boot = this_boot();
    if (boot.empty())
        return error{error_code::internal, "the kernel does not tell its boot id"};
    for (int tries = 0; tries < 3; ++tries) {
        if (::symlink(boot.c_str(), path.c_str()) == 0 || (errno == EEXIST && read_link(path) == boot))
            return success();
        if (errno != EEXIST && errno != ENOENT)
            return system_error(errno, path);
        ::unlink(path.c_str()); // of an earlier boot: job ids come back when an administrator starts anew
    }
    return error{error_code::internal, path + ": cannot be made"};
}

void remove_pin(const blob_place& place, const blob_pin& pin) {
    ::unlink(path_of(place, pin).c_str());
}

bool is_pinned(const blob_place& place, const blob_pin& pin) {
    return read_link(path_of(place, pin)) == this_boot();
}

std::vector<blob_pin> read_pins(const blob_place& place) {
    std::vector<blob_pin> pins;
    const std::string boot = this_boot();
    for (const std::string& name : list_directory(place.pins()))
        if (auto pin = parse_name(name); pin && read_link(place.pins() + "/" + name) == boot)
            pins.push_back(std::move(*pin));
    std::sort(pins.begin(), pins.end());
    return pins;
}

void drop_stale_pins(const blob_place& place) {
    const std::string boot = this_boot();
    for (const std::string& name : list_directory(place.pins())) {
        const std::string path = place.pins() + "/" + name;
        if (!parse_name(name) || read_link(path) != boot)
            ::unlink(path.c_str());
    }
}

} // namespace amd_gpu
