#include "environment/blob_unpack.hpp"

#include "environment/blob_room.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <ftw.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace amd_gpu {
namespace {

constexpr auto unsquashfs = "/usr/bin/unsquashfs";
constexpr int open_directories = 32;     // at once, while a tree is walked
constexpr uint64_t smallest_file = 4096; // what a file takes at least on most disks

struct tree_size {
    uint64_t bytes = 0;
    uint64_t files = 0;
};

result<child_result> run_unsquashfs(std::vector<std::string> arguments, deadline until,
                                    const std::function<void(std::string_view)>& on_line = {}) {
    command child;
    child.arguments = {unsquashfs};
    child.arguments.insert(child.arguments.end(), std::make_move_iterator(arguments.begin()),
                           std::make_move_iterator(arguments.end()));
    child.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    child.output_limit = 64U << 10;
    auto ended = run(child, until, on_line);
    if (!ended)
        return error{error_code::unsupported, "cannot unpack images: " + ended.failure().what};
    if (ended->how == child_result::ending::timed_out || ended->how == child_result::ending::abandoned)
        return error{error_code::timed_out, "unsquashfs " + ended->text()};
    if (!ended->succeeded())
        return error{error_code::peer,
                     fmt::format("unsquashfs {}: {}", ended->text(), trimmed(ended->diagnostics.substr(0, 400)))};
    return ended;
}

/// How large an image is when it is unpacked: what its compressed size says nothing about.
result<tree_size> size_of(const std::string& image, deadline until) {
    tree_size sum;
    bool readable = true;
    const auto listed = run_unsquashfs({"-lln", image}, until, [&](std::string_view line) {
        const auto bytes = listed_bytes(line);
        readable = readable && bytes && sum.bytes + *bytes >= sum.bytes;
        sum.bytes += bytes.value_or(0);
        ++sum.files;
    });
    if (!listed)
        return listed.failure();
    if (!readable)
        return error{error_code::peer, "the list of files of an image makes no sense"};
    return sum;
}

status check_room(const blob_place& place, const tree_size& needed) {
    struct statvfs disk{};
    if (::statvfs(place.top.c_str(), &disk) != 0)
        return system_error(errno, place.top);
    const uint64_t free_bytes = static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
    const uint64_t small = needed.files * smallest_file;
    if (needed.bytes > free_bytes || small > free_bytes - needed.bytes ||
        (disk.f_files != 0 && needed.files > disk.f_favail))
        return error{error_code::internal,
                     fmt::format("no room to unpack an image: {} files of {} in {}, which has {} free", needed.files,
                                 readable_bytes(needed.bytes), place.top, readable_bytes(free_bytes))};
    return success();
}

/// What the options nosuid and nodev do for a mount, and that nobody but root can write.
int make_harmless(const char* path, const struct stat* info, int kind, FTW* /*where*/) {
    if (kind == FTW_SL)
        return ::lchown(path, 0, 0);
    if (!S_ISREG(info->st_mode) && !S_ISDIR(info->st_mode))
        return ::unlink(path);
    if (::lchown(path, 0, 0) != 0)
        return -1;
    return ::chmod(path, info->st_mode & 0755);
}

status sync_disk(const std::string& directory) {
    const unique_fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened || ::syncfs(opened.get()) != 0)
        return system_error(errno, directory);
    return success();
}

status unpack_into(const blob_place& place, const blob_source& what, const std::string& fresh, deadline until) {
    const auto size = size_of(place.blob(what.sha256), until);
    if (!size)
        return size.failure();
    if (const status room = check_room(place, *size); !room)
        return room;
    // Until everything in it is harmless nobody else gets at it.
    if (::mkdir(fresh.c_str(), 0700) != 0)
        return system_error(errno, fresh);
    const std::string tree = fresh + "/tree";
    const auto unpacked =
        run_unsquashfs({"-no-xattrs", "-no-progress", "-quiet", "-dest", tree, place.blob(what.sha256)}, until);
    if (!unpacked)
        return unpacked.failure();
    if (::nftw(tree.c_str(), make_harmless, open_directories, FTW_PHYS) != 0)
        return system_error(errno, tree);
    const std::string note = place.unpacked(what.sha256) + ".bytes";
    const uint64_t bytes = size->bytes + size->files * smallest_file;
    if (const status written = write_file_atomically(note, std::to_string(bytes) + "\n", 0600); !written)
        return written;
    if (const status synced = sync_disk(fresh); !synced)
        return synced;
    if (::rename(tree.c_str(), place.unpacked(what.sha256).c_str()) != 0)
        return system_error(errno, tree);
    return success();
}

void remove_tree(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

} // namespace

status unpack_image(const blob_place& place, const blob_source& what, deadline until) {
    const std::string fresh = place.unpacked(what.sha256) + ".new";
    remove_unpacked(place, what.sha256);
    const status outcome = unpack_into(place, what, fresh, until);
    remove_tree(fresh);
    if (!outcome)
        remove_unpacked(place, what.sha256);
    return outcome;
}

void remove_unpacking(const blob_place& place, const std::string& sha256) {
    remove_tree(place.unpacked(sha256) + ".new");
    remove_tree(place.unpacked(sha256) + ".old");
}

void remove_unpacked(const blob_place& place, const std::string& sha256) {
    const std::string tree = place.unpacked(sha256);
    remove_unpacking(place, sha256);
    // Renamed first, so that half a tree is never taken for a whole one.
    ::rename(tree.c_str(), (tree + ".old").c_str());
    remove_unpacking(place, sha256);
    ::unlink((tree + ".bytes").c_str());
}

uint64_t unpacked_size(const blob_place& place, const std::string& sha256) {
    return read_number(place.unpacked(sha256) + ".bytes").value_or(0);
}

std::optional<uint64_t> listed_bytes(std::string_view line) {
    if (!line.starts_with('-'))
        return 0;
    const auto owner = line.find_first_not_of(' ', line.find(' '));
    const auto size = line.find_first_not_of(' ', line.find(' ', owner));
    const auto end = line.find(' ', size);
    if (owner == std::string_view::npos || size == std::string_view::npos || end == std::string_view::npos)
        return std::nullopt;
    return parse_number(line.substr(size, end - size));
}

} // namespace amd_gpu
