#include "environment/blob_cache.hpp"

#include "configuration/settings.hpp"
#include "environment/blob_check.hpp"
#include "environment/blob_image.hpp"
#include "environment/blob_mount.hpp"
#include "environment/blob_pins.hpp"
#include "environment/blob_place.hpp"
#include "environment/blob_room.hpp"
#include "environment/blob_unpack.hpp"
#include "environment/bundle_download.hpp"
#include "environment/variant.hpp"
#include "system/file_lock.hpp"
#include "system/files.hpp"

#include <atomic>
#include <condition_variable>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <thread>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;

/// Pins come and go in no time; only a disk that hangs takes so long.
constexpr auto longest_pinning = 10s;
/// Once an image is local it is mounted even if whoever asked has given up: the next one finds it.
constexpr auto time_to_mount = 30s;

/// Sets the time of the last use. The time that the kernel sets by itself is only as fine as its clock's ticks.
void touch(const std::string& image) {
    timespec times[2]{};
    times[0].tv_nsec = UTIME_OMIT;
    if (::clock_gettime(CLOCK_REALTIME, &times[1]) == 0)
        ::utimensat(AT_FDCWD, image.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

bool exists(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0;
}

/// The directory in which an image is ready for use.
std::optional<std::string> ready_in(const blob_place& place, const std::string& sha256) {
    if (is_mounted(place.mount(sha256)))
        return place.mount(sha256);
    if (exists(place.unpacked(sha256)))
        return place.unpacked(sha256);
    return std::nullopt;
}

/// Mounts an image that is whole, or unpacks it.
result<std::string> put_to_use(const blob_place& place, const blob_source& what, deadline until, const progress& say) {
    const status mounted = mount_image(place.blob(what.sha256), place.mount(what.sha256), deadline::in(time_to_mount));
    if (mounted)
        return place.mount(what.sha256);
    if (mounted.failure().code != error_code::unsupported)
        return mounted.failure();
    say("unpacking an image: " + mounted.failure().what);
    if (const status unpacked = unpack_image(place, what, until); !unpacked)
        return unpacked.failure();
    return place.unpacked(what.sha256);
}

/// The work for one image, and who waits for it.
struct flight {
    std::optional<result<std::string>> answer;
    std::string told; ///< the last text for whoever waits
    unsigned texts = 0;
};

} // namespace

struct blob_cache::state {
    const settings& site;
    const blob_fetcher fetch;
    std::mutex lock;
    std::condition_variable changed;
    std::optional<blob_place> place;
    std::map<std::string, std::shared_ptr<flight>> flights; ///< by hash
    unsigned flying = 0;
    std::atomic<bool> stop = false;

    result<blob_place> opened();
    result<std::string> join(const blob_source& what, deadline until, const progress& say);
    void fly(const blob_place& where, const blob_source& what, flight& mine, deadline until);
    result<std::string> bring(const blob_place& where, const blob_source& what, deadline until, const progress& say);
    status make_local(const blob_place& where, const blob_source& what, deadline until, const progress& say);
};

/// The directory, checked once; a failure is looked at again, since an administrator may have mended it.
result<blob_place> blob_cache::state::opened() {
    const std::lock_guard guard(lock);
    if (place)
        return *place;
    auto found = open_blob_place(site.cache_directory);
    if (found)
        place = *found;
    return found;
}

/// Waits for the work on an image, and begins it if nobody has. The work has a thread of its own and goes on when the
/// one who began it may wait no longer: a check that was nearly done is not done in vain.
result<std::string> blob_cache::state::join(const blob_source& what, deadline until, const progress& say) {
    std::unique_lock guard(lock);
    for (;;) {
        auto& entry = flights[what.sha256];
        if (!entry) {
            auto fresh = std::make_shared<flight>();
            std::thread([this, where = *place, what, fresh, until] { fly(where, what, *fresh, until); }).detach();
            entry = std::move(fresh);
            ++flying;
        }
        const auto mine = entry;
        unsigned heard = 0;
        while (!mine->answer) {
            if (mine->texts != heard) {
                heard = mine->texts;
                const std::string text = mine->told;
                guard.unlock();
                say(text);
                guard.lock();
            } else if (until.passed()) {
                return error{error_code::timed_out,
                             fmt::format("our own limit passed while image {} was made ready{}; the next try goes on "
                                         "from there",
                                         what.sha256.substr(0, 12), mine->told.empty() ? "" : ": " + mine->told)};
            } else {
                changed.wait_until(guard, until.when());
            }
        }
        // The one who began had less time than this one: what was fetched is there, and it goes on.
        if (!*mine->answer && mine->answer->failure().code == error_code::timed_out && !until.passed() && !stop)
            continue;
        return *mine->answer;
    }
}

void blob_cache::state::fly(const blob_place& where, const blob_source& what, flight& mine, deadline until) {
    const progress tell = [&](const std::string& text) {
        const std::lock_guard guard(lock);
        mine.told = text;
        ++mine.texts;
        changed.notify_all();
    };
    result<std::string> answer = error{error_code::internal, "the work on an image"};
    try {
        answer = bring(where, what, until, tell);
    } catch (const std::exception& problem) {
        answer = error{error_code::internal, problem.what()};
    }
    const std::lock_guard guard(lock);
    mine.answer = std::move(answer);
    flights.erase(what.sha256);
    --flying;
    changed.notify_all();
}

/// Makes an image local and mounts it; against other processes, too.
result<std::string> blob_cache::state::bring(const blob_place& where, const blob_source& what, deadline until,
                                             const progress& say) {
    const auto held = file_lock::take(where.image_lock(what.sha256), file_lock::kind::alone, until);
    if (!held)
        return held.failure().within("another process works on image " + what.sha256.substr(0, 12));
    if (const auto ready = ready_in(where, what.sha256))
        return *ready;
    if (const status local = make_local(where, what, until, say); !local)
        return local.failure();
    touch(where.blob(what.sha256));
    return put_to_use(where, what, until, say);
}

/// Gives an image that is whole its place, from the cache or from a server. What lies in the cache is checked once more
/// before it is mounted, which is once a boot: disks forget.
status blob_cache::state::make_local(const blob_place& where, const blob_source& what, deadline until,
                                     const progress& say) {
    if (exists(where.blob(what.sha256))) {
        say(fmt::format("checking image {} ({})", what.sha256.substr(0, 12), readable_bytes(what.bytes)));
        const status good = check_image(where.blob(what.sha256), what, stop);
        if (good || good.failure().code == error_code::timed_out)
            return good;
        say(fmt::format("fetching image {} anew: in the cache {}", what.sha256.substr(0, 12), good.failure().what));
        ::unlink(where.blob(what.sha256).c_str());
    }
    if (const status room = make_room(where, site, what, until, say); !room)
        return room;
    struct stat have{};
    const std::string partial = where.partial(what.sha256);
    if (::lstat(partial.c_str(), &have) != 0)
        return system_error(errno, partial);
    if (static_cast<uint64_t>(have.st_size) != what.bytes) {
        say(fmt::format("fetching image {} ({})", what.sha256.substr(0, 12), readable_bytes(what.bytes)));
        if (const status fetched = fetch(what, partial, until, say); !fetched)
            return fetched.failure().within("image " + what.sha256.substr(0, 12));
    }
    say(fmt::format("checking image {} ({})", what.sha256.substr(0, 12), readable_bytes(what.bytes)));
    return take_over(where, what, stop);
}

blob_cache::blob_cache(const settings& site, blob_fetcher fetch)
    : state_(new state{site, std::move(fetch), {}, {}, {}, {}, 0, false}) {}

blob_cache::blob_cache(const settings& site)
    : blob_cache(site, [&site](const blob_source& what, const std::string& partial, deadline until,
                               const progress& say) { return download_blob(site, what, partial, until, say); }) {}

blob_cache::~blob_cache() {
    state_->stop = true;
    std::unique_lock guard(state_->lock);
    state_->changed.wait(guard, [&] { return state_->flying == 0; });
}

status blob_cache::recover(deadline until) {
    if (!exists(state_->site.cache_directory))
        return success();
    const auto place = state_->opened();
    if (!place)
        return place.failure();
    const auto lock = file_lock::take(place->pins_lock(), file_lock::kind::alone, until);
    if (!lock)
        return lock.failure();
    drop_stale_pins(*place);
    std::set<std::string> pinned;
    for (const blob_pin& pin : read_pins(*place))
        pinned.insert(pin.sha256);
    // An image is whole or it is nothing: parts that no job waits for go, and so do mounts of images that were removed
    // by hand. What another process works on stays as it is.
    std::set<std::string> remains;
    for (const std::string& directory : {place->partials(), place->mounts(), place->unpacks()})
        for (const std::string& name : list_directory(directory))
            remains.insert(name.substr(0, name.find('.')));
    for (const std::string& sha256 : remains) {
        if (!is_sha256(sha256) || until.passed())
            continue;
        if (!pinned.contains(sha256) && !exists(place->blob(sha256)))
            remove_image(*place, sha256, until);
        else if (const auto held =
                     file_lock::take(place->image_lock(sha256), file_lock::kind::alone, deadline::in(0ms)))
            remove_unpacking(*place, sha256);
    }
    return success();
}

result<std::string> blob_cache::hold(const blob_source& what, uint32_t job, deadline until, const progress& say) {
    if (!is_sha256(what.sha256) || what.bytes < superblock_bytes)
        return error{error_code::peer, fmt::format("an index names an image of {} bytes with the SHA-256 \"{}\"",
                                                   what.bytes, what.sha256.substr(0, 64))};
    const auto place = state_->opened();
    if (!place)
        return place.failure();
    const blob_pin pin{job, what.sha256};
    {
        // First of all, so that nobody who makes room takes it away.
        const auto lock = file_lock::take(place->pins_lock(), file_lock::kind::shared, until.at_most(longest_pinning));
        if (!lock)
            return lock.failure();
        if (const status pinned = add_pin(*place, pin); !pinned)
            return pinned.failure();
        if (const auto ready = ready_in(*place, what.sha256)) {
            touch(place->blob(what.sha256));
            return *ready;
        }
    }
    result<std::string> directory = error{error_code::internal, "the work on an image"};
    try {
        directory = state_->join(what, until, say);
    } catch (const std::system_error& problem) { // no thread to be had
        return error{error_code::internal, problem.what()};
    }
    if (directory && !is_pinned(*place, pin))
        return error{error_code::internal, fmt::format("job {} was released while its image was made ready", job)};
    return directory;
}

void blob_cache::release(uint32_t job) {
    const auto place = state_->opened();
    if (!place)
        return;
    // Without the lock if it cannot be had: a pin too few at this moment only keeps an image for the next who looks.
    const auto lock = file_lock::take(place->pins_lock(), file_lock::kind::shared, deadline::in(longest_pinning));
    for (const blob_pin& pin : read_pins(*place)) {
        if (pin.job != job)
            continue;
        touch(place->blob(pin.sha256));
        remove_pin(*place, pin);
    }
}

} // namespace amd_gpu
