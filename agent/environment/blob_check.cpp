#include "environment/blob_check.hpp"

#include "environment/blob_image.hpp"
#include "system/files.hpp"
#include "system/sha256.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <vector>

namespace amd_gpu {
namespace {

constexpr std::size_t chunk_bytes = 1U << 20;
constexpr mode_t blob_mode = 0444;

result<unique_fd> open_image(const std::string& file, const blob_source& what) {
    unique_fd opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!opened)
        return system_error(errno, file);
    struct stat info{};
    if (::fstat(opened.get(), &info) != 0)
        return system_error(errno, file);
    if (!S_ISREG(info.st_mode))
        return error{error_code::peer, file + ": no regular file"};
    if (static_cast<uint64_t>(info.st_size) != what.bytes)
        return error{error_code::peer,
                     fmt::format("the image has {} bytes, and the index says {}", info.st_size, what.bytes)};
    return opened;
}

status write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return system_error(errno, "copying an image");
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return success();
}

/// Reads an image to its end and checks it; what is checked is also written to `copy`, unless that is -1.
status check_content(int file, const blob_source& what, int copy, const std::atomic<bool>& stop) {
    if (::lseek(file, 0, SEEK_SET) != 0)
        return system_error(errno, "reading an image");
    std::vector<char> chunk(chunk_bytes);
    std::string beginning;
    sha256 hash;
    for (uint64_t size = 0;;) {
        if (stop)
            return error{error_code::timed_out, "the agent ends before the image is checked"};
        const ssize_t got = ::read(file, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(errno, "reading an image");
        if (got == 0)
            break;
        const std::string_view bytes(chunk.data(), static_cast<std::size_t>(got));
        size += bytes.size();
        if (size > what.bytes)
            return error{error_code::peer, "the image grew while it was checked"};
        hash.add(bytes);
        if (beginning.size() < superblock_bytes)
            beginning.append(bytes.substr(0, superblock_bytes - beginning.size()));
        if (copy >= 0)
            if (const status written = write_all(copy, bytes); !written)
                return written;
    }
    if (const std::string digits = hash.digits(); digits != what.sha256)
        return error{error_code::peer, fmt::format("the image is not what the index says: its SHA-256 is {}, not {}",
                                                   digits, what.sha256)};
    if (const auto facts = parse_superblock(beginning, what.bytes); !facts)
        return facts.failure();
    return success();
}

/// Whether nobody can change what this file holds: it is root's and read-only already, so that nobody opens it for
/// writing any more; the kernel gives a lease for reading only when nobody has it open so (fcntl(2), F_SETLEASE), which
/// includes memory that is mapped; and it has no other name.
bool nobody_writes(int file) {
    struct stat info{};
    if (::fstat(file, &info) != 0 || info.st_nlink != 1)
        return false;
    // Breaking a lease sends a signal whose default is to end us; this one's is nothing.
    if (::fcntl(file, F_SETSIG, SIGURG) != 0 || ::fcntl(file, F_SETLEASE, F_RDLCK) != 0)
        return false;
    return ::fcntl(file, F_SETLEASE, F_UNLCK) == 0;
}

status sync_directory(const std::string& path) {
    const unique_fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return system_error(errno, path);
    return success();
}

/// Gives what was checked its final name, once it is on the disk.
status finish(int file, const std::string& from, const std::string& to, const std::string& directory) {
    if (::fchmod(file, blob_mode) != 0 || ::fsync(file) != 0 || ::rename(from.c_str(), to.c_str()) != 0)
        return system_error(errno, from);
    return sync_directory(directory);
}

/// The way where somebody may still write into the file: what is checked is what is copied.
status copy_over(int file, const blob_place& place, const blob_source& what, const std::atomic<bool>& stop) {
    const std::string copy = place.partial(what.sha256) + ".copy";
    ::unlink(copy.c_str());
    const unique_fd own(::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!own)
        return system_error(errno, copy);
    status outcome = check_content(file, what, own.get(), stop);
    if (outcome)
        outcome = finish(own.get(), copy, place.blob(what.sha256), place.blobs());
    if (outcome)
        ::unlink(place.partial(what.sha256).c_str());
    else
        ::unlink(copy.c_str());
    return outcome;
}

} // namespace

status check_image(const std::string& file, const blob_source& what, const std::atomic<bool>& stop) {
    const auto opened = open_image(file, what);
    if (!opened)
        return opened.failure();
    return check_content(opened->get(), what, -1, stop);
}

status take_over(const blob_place& place, const blob_source& what, const std::atomic<bool>& stop) {
    const std::string partial = place.partial(what.sha256);
    const auto opened = open_image(partial, what);
    const int file = opened ? opened->get() : -1;
    status outcome = success();
    if (!opened)
        outcome = opened.failure();
    else if (::fchown(file, ::geteuid(), ::getegid()) != 0 || ::fchmod(file, blob_mode) != 0)
        outcome = system_error(errno, partial);
    else if (!nobody_writes(file))
        outcome = copy_over(file, place, what, stop);
    else if (outcome = check_content(file, what, -1, stop); outcome)
        outcome = finish(file, partial, place.blob(what.sha256), place.blobs());
    if (!outcome && outcome.failure().code == error_code::peer)
        ::unlink(partial.c_str());
    return outcome;
}

} // namespace amd_gpu
