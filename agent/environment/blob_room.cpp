#include "environment/blob_room.hpp"

#include "configuration/settings.hpp"
#include "environment/blob_mount.hpp"
#include "environment/blob_pins.hpp"
#include "environment/blob_unpack.hpp"
#include "environment/variant.hpp"
#include "system/file_lock.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t spare_bytes = 1U << 20; // directories, pins and locks need some
constexpr uint64_t spare_inodes = 16;
constexpr uint64_t stat_block = 512; // unit of st_blocks, stat(2)

/// What is in the cache, whole or in part, without what `leave` names.
std::vector<cached_image> present_in(const blob_place& place, const std::set<std::string>& pinned,
                                     const std::set<std::string>& leave) {
    std::map<std::string, cached_image> images;
    for (const auto& directory : {place.blobs(), place.partials()}) {
        for (const std::string& name : list_directory(directory)) {
            struct stat info{};
            const std::string sha256 = name.substr(0, name.find('.')); // "HEX.copy"
            if (!is_sha256(sha256) || ::lstat((directory + "/" + name).c_str(), &info) != 0)
                continue;
            cached_image& image = images[sha256];
            image.sha256 = sha256;
            // Some file systems tell the blocks of a fresh file late, and a partial one has more than its size says.
            image.bytes +=
                std::max(static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_blocks) * stat_block);
            image.last_used =
                std::max(image.last_used, int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec);
            image.pinned = pinned.contains(sha256) || leave.contains(sha256);
        }
    }
    std::vector<cached_image> list;
    list.reserve(images.size());
    for (auto& [sha256, image] : images) {
        image.bytes += unpacked_size(place, sha256);
        list.push_back(std::move(image));
    }
    return list;
}

result<cache_room> room_of(const blob_place& place, uint64_t limit) {
    struct statvfs disk{};
    if (::statvfs(place.top.c_str(), &disk) != 0)
        return system_error(errno, place.top);
    cache_room room;
    room.limit = limit;
    room.free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    if (disk.f_files != 0)
        room.free_inodes = disk.f_favail;
    return room;
}

/// Makes the partial file if it is not there, and allocates what it will need.
status allocate(const blob_place& place, const blob_source& what) {
    const std::string partial = place.partial(what.sha256);
    const unique_fd file(::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return system_error(errno, partial);
    struct stat info{};
    if (::fstat(file.get(), &info) != 0)
        return system_error(errno, partial);
    if (static_cast<uint64_t>(info.st_size) > what.bytes && ::ftruncate(file.get(), 0) != 0)
        return system_error(errno, partial); // of another image it cannot be; start anew
    if (::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(what.bytes)) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS)
        return system_error(errno, fmt::format("{}: {} for an image", place.top, readable_bytes(what.bytes)));
    return success();
}

uint64_t allocated_for(const blob_place& place, const std::string& sha256) {
    struct stat info{};
    if (::lstat(place.partial(sha256).c_str(), &info) != 0)
        return 0;
    return static_cast<uint64_t>(info.st_blocks) * stat_block;
}

/// Removes what is in the way and allocates. Error (internal): what cannot be removed is too much.
status remove_and_allocate(const blob_place& place, const settings& site, const blob_source& what, deadline until,
                           const progress& say) {
    std::set<std::string> leave{what.sha256};
    for (;;) {
        std::set<std::string> pinned;
        for (const blob_pin& pin : read_pins(place))
            pinned.insert(pin.sha256);
        const auto room = room_of(place, site.cache_limit);
        if (!room)
            return room.failure();
        const uint64_t have = std::min(allocated_for(place, what.sha256), what.bytes);
        const auto remove = images_to_remove(present_in(place, pinned, leave), what.bytes - have, *room);
        if (!remove)
            return remove.failure();
        if (remove->empty())
            return allocate(place, what);
        for (const std::string& sha256 : *remove) {
            say("removing image " + sha256.substr(0, 12) + " from the cache");
            if (!remove_image(place, sha256, until))
                leave.insert(sha256);
        }
        if (until.passed())
            return error{error_code::timed_out, "making room for an image"};
    }
}

/// Drops the pins of jobs that the controller says are over, but those of this image. True: there were some.
bool drop_ended(const blob_place& place, const settings& site, const std::string& but, deadline until) {
    std::map<uint32_t, bool> ended;
    bool any = false;
    const slurm_control slurm(site, "");
    for (const blob_pin& pin : read_pins(place)) {
        if (pin.sha256 == but)
            continue;
        if (!ended.contains(pin.job)) {
            if (until.passed())
                break;
            const auto answer = slurm.look_up(pin.job);
            if (!answer && answer.failure().code == error_code::timed_out)
                break; // nor will it answer for the others
            ended[pin.job] = has_ended(answer);
        }
        if (ended[pin.job]) {
            remove_pin(place, pin);
            any = true;
        }
    }
    return any;
}

/// "jobs 12, 13"
std::string jobs_in(const std::vector<blob_pin>& pins) {
    std::set<uint32_t> jobs;
    for (const blob_pin& pin : pins)
        jobs.insert(pin.job);
    return fmt::format("job{} {}", jobs.size() == 1 ? "" : "s", fmt::join(jobs, ", "));
}

} // namespace

std::string readable_bytes(uint64_t bytes) {
    constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    auto value = static_cast<double>(bytes);
    for (; value >= 1024 && unit + 1 < units.size(); ++unit)
        value /= 1024;
    return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

result<std::vector<std::string>> images_to_remove(std::vector<cached_image> present, uint64_t need,
                                                  const cache_room& room) {
    std::sort(present.begin(), present.end(), [](const cached_image& a, const cached_image& b) {
        return std::tie(a.last_used, a.sha256) < std::tie(b.last_used, b.sha256);
    });
    uint64_t kept = 0;
    uint64_t pinned = 0;
    for (const cached_image& image : present) {
        kept += image.bytes;
        pinned += image.pinned ? image.bytes : 0;
    }
    uint64_t free_bytes = room.free_bytes;
    std::optional<uint64_t> free_inodes = room.free_inodes;
    std::vector<std::string> remove;
    // Subtracted, so that no size from outside overflows.
    const auto fits = [&] {
        return kept <= room.limit && need <= room.limit - kept && free_bytes >= spare_bytes &&
               need <= free_bytes - spare_bytes && free_inodes.value_or(spare_inodes) >= spare_inodes;
    };
    for (const cached_image& image : present) {
        if (fits())
            break;
        if (image.pinned)
            continue;
        remove.push_back(image.sha256);
        kept -= image.bytes;
        free_bytes += image.bytes;
        if (free_inodes)
            *free_inodes += 2; // the image and its mount point
    }
    if (fits())
        return remove;
    std::string why = fmt::format("no room for {} more", readable_bytes(need));
    if (need > room.limit)
        why += fmt::format(": [cache] limit is {}", readable_bytes(room.limit));
    else if (kept > room.limit || need > room.limit - kept)
        why += fmt::format(": [cache] limit is {}, of which images that are in use have {}", readable_bytes(room.limit),
                           readable_bytes(pinned));
    else if (free_inodes.value_or(spare_inodes) < spare_inodes)
        why += fmt::format(": the disk has {} inodes left", *free_inodes);
    else
        why += fmt::format(": the disk has {} free, and images that are in use have {}", readable_bytes(free_bytes),
                           readable_bytes(pinned));
    return error{error_code::internal, why};
}

bool has_ended(const result<slurm_control::job_record>& answer) {
    // slurmctld forgets a job some minutes after its end (MinJobAge).
    if (!answer)
        return answer.failure().what.find("Invalid job id") != std::string::npos;
    constexpr std::array<std::string_view, 10> ends = {"COMPLETED",     "CANCELLED", "FAILED",    "TIMEOUT",
                                                       "NODE_FAIL",     "PREEMPTED", "BOOT_FAIL", "DEADLINE",
                                                       "OUT_OF_MEMORY", "REVOKED"};
    return std::find(ends.begin(), ends.end(), answer->state) != ends.end();
}

status make_room(const blob_place& place, const settings& site, const blob_source& what, deadline until,
                 const progress& say) {
    status made = success();
    for (const bool again : {false, true}) {
        {
            const auto lock = file_lock::take(place.pins_lock(), file_lock::kind::alone, until);
            if (!lock)
                return lock.failure();
            made = remove_and_allocate(place, site, what, until, say);
        }
        // The controller is asked only when there is no other way, and never while others wait for the lock.
        if (made || made.failure().code != error_code::internal || again ||
            !drop_ended(place, site, what.sha256, until))
            break;
    }
    if (made)
        return made;
    const auto pins = read_pins(place);
    const std::string in_use = pins.empty() ? "" : " (in use by " + jobs_in(pins) + ")";
    return error{made.failure().code, fmt::format("{}: {}{}", place.top, made.failure().what, in_use)};
}

bool remove_image(const blob_place& place, const std::string& sha256, deadline until) {
    auto lock = file_lock::take(place.image_lock(sha256), file_lock::kind::alone, deadline::in(0ms));
    if (!lock)
        return false;
    const auto unmounted = unmount_image(place.mount(sha256), until);
    if (!unmounted || !*unmounted)
        return false;
    remove_unpacked(place, sha256);
    ::unlink(place.blob(sha256).c_str());
    ::unlink(place.partial(sha256).c_str());
    ::unlink((place.partial(sha256) + ".copy").c_str());
    lock->remove();
    return true;
}

} // namespace amd_gpu
