#include "environment/blob_mount.hpp"

#include "system/files.hpp"
#include "system/process.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <libmount/libmount.h>
#include <linux/magic.h>
#include <memory>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;

/// Exit statuses of the child.
enum : int { done = 0, failed = 1, no_squashfs = 3, busy = 4, refused = 5 };

/// A mount takes milliseconds; one that takes longer than this hangs.
constexpr auto longest_mount = 20s;

/// "\040" is a space in /proc/self/mountinfo.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            plain.push_back(
                static_cast<char>((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 | (text[i + 3] - '0')));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

/// Runs the child. Error (internal, since trying again would hang again): it hangs, and was ended or left behind.
result<child_result> run_child(std::vector<std::string> arguments, deadline until) {
    command child;
    child.arguments = {"/proc/self/exe", "mount-blob"};
    child.arguments.insert(child.arguments.end(), std::make_move_iterator(arguments.begin()),
                           std::make_move_iterator(arguments.end()));
    child.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
    auto ended = run(child, until.at_most(longest_mount));
    if (!ended)
        return ended.failure();
    if (ended->how == child_result::ending::timed_out || ended->how == child_result::ending::abandoned)
        return error{error_code::internal, "it " + ended->text()};
    return ended;
}

std::string said_by(const child_result& child) {
    const std::string text(trimmed(child.diagnostics));
    return text.empty() ? "it " + child.text() : text;
}

} // namespace

status mount_image(const std::string& image, const std::string& directory, deadline until) {
    if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
        return system_error(errno, directory);
    const auto child = run_child({image, directory}, until);
    const std::string context = "cannot mount " + image;
    if (!child)
        return child.failure().within(context);
    if (child->succeeded())
        return success();
    error_code code = error_code::internal;
    if (child->how == child_result::ending::exited && child->code == no_squashfs)
        code = error_code::unsupported;
    if (child->how == child_result::ending::exited && child->code == refused)
        code = error_code::peer;
    return error{code, context + ": " + said_by(*child)};
}

result<bool> unmount_image(const std::string& directory, deadline until) {
    // More than one image may lie above the other when a directory was mounted twice by hand.
    for (int layers = 0; is_mounted(directory) && layers < 16; ++layers) {
        const auto child = run_child({directory}, until);
        if (!child)
            return child.failure().within("cannot unmount " + directory);
        if (child->how == child_result::ending::exited && child->code == busy)
            return false;
        if (!child->succeeded())
            return error{error_code::internal, "cannot unmount " + directory + ": " + said_by(*child)};
    }
    if (::rmdir(directory.c_str()) != 0 && errno != ENOENT)
        return system_error(errno, directory);
    return true;
}

bool is_mounted(const std::string& directory) {
    struct statfs kind{};
    struct stat here{};
    struct stat above{};
    return ::statfs(directory.c_str(), &kind) == 0 && static_cast<uint32_t>(kind.f_type) == SQUASHFS_MAGIC &&
           ::stat(directory.c_str(), &here) == 0 && ::stat((directory + "/..").c_str(), &above) == 0 &&
           here.st_dev != above.st_dev;
}

std::vector<mount_entry> mounts_in(std::string_view mountinfo, const std::string& directory) {
    std::vector<mount_entry> found;
    for (const std::string& line : split(mountinfo, '\n')) {
        const auto fields = split(line, ' ');
        std::size_t dash = 6; // after any number of optional fields
        while (dash < fields.size() && fields[dash] != "-")
            ++dash;
        if (dash + 2 >= fields.size())
            continue;
        std::string where = unescaped(fields[4]);
        if (where.size() > directory.size() + 1 && where.starts_with(directory) && where[directory.size()] == '/' &&
            where.find('/', directory.size() + 1) == std::string::npos)
            found.push_back({std::move(where), unescaped(fields[dash + 2])});
    }
    return found;
}

int mount_blob_child(const std::string& image, const std::string& directory) {
    // The agent that started another child like this one may have been killed a moment ago, and its lock with it, while
    // that child is still at work.
    const unique_fd file(::open(image.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file || ::flock(file.get(), LOCK_EX) != 0) {
        fmt::print(stderr, "{}\n", std::strerror(errno));
        return failed;
    }
    if (is_mounted(directory))
        return done;
    const std::unique_ptr<libmnt_context, void (*)(libmnt_context*)> context(::mnt_new_context(), ::mnt_free_context);
    // No helper program, and no entry in a table of user space: the kernel's own is the truth.
    if (!context || ::mnt_context_disable_helpers(context.get(), 1) != 0 ||
        ::mnt_context_disable_mtab(context.get(), 1) != 0 ||
        ::mnt_context_disable_canonicalize(context.get(), 1) != 0 ||
        ::mnt_context_set_fstype(context.get(), "squashfs") != 0 ||
        ::mnt_context_set_source(context.get(), image.c_str()) != 0 ||
        ::mnt_context_set_target(context.get(), directory.c_str()) != 0 ||
        ::mnt_context_set_options(context.get(), "loop,ro,nosuid,nodev") != 0) {
        fmt::print(stderr, "out of memory\n");
        return failed;
    }
    const int outcome = ::mnt_context_mount(context.get());
    if (outcome == 0)
        return done;
    const int number =
        ::mnt_context_syscall_called(context.get()) == 1 ? ::mnt_context_get_syscall_errno(context.get()) : -outcome;
    char text[512] = "";
    ::mnt_context_get_excode(context.get(), outcome, text, sizeof text);
    fmt::print(stderr, "{}\n", *text != '\0' ? text : std::strerror(number));
    if (::mnt_context_syscall_called(context.get()) != 1)
        return number == ENOENT || number == ENODEV || number == ENXIO ? no_squashfs : failed; // no loop device
    if (number == ENODEV)
        return no_squashfs;
    return number == EINVAL || number == EIO || number == EUCLEAN ? refused : failed;
}

int unmount_blob_child(const std::string& directory) {
    if (::umount2(directory.c_str(), UMOUNT_NOFOLLOW) == 0 || errno == EINVAL || errno == ENOENT)
        return done;
    if (errno == EBUSY)
        return busy;
    fmt::print(stderr, "{}\n", std::strerror(errno));
    return failed;
}

} // namespace amd_gpu
