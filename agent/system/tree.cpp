#include "system/tree.hpp"

#include "system/fd.hpp"
#include "system/files.hpp"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <vector>

namespace amd_gpu {
namespace {

/// Opens a directory without following a link, after giving its owner all rights to it.
unique_fd open_directory(int at, const char* name) {
    // chmod by name would follow a link that takes the directory's place; this descriptor is the directory itself.
    const unique_fd handle(::openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!handle)
        return {};
    const std::string same = fmt::format("/proc/self/fd/{}", handle.get());
    ::chmod(same.c_str(), S_IRWXU); // where it fails, opening it says so
    return unique_fd(::open(same.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

std::optional<std::vector<std::string>> names_in(int directory) {
    const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(again < 0 ? nullptr : ::fdopendir(again), ::closedir);
    if (!listing)
        return std::nullopt;
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(listing.get()))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            names.emplace_back(name);
    return names;
}

class emptier {
  public:
    explicit emptier(int top)
        : top_(top) {}

    status all() {
        // What lies deep is moved up here, so there may be more to do after each round.
        for (;;) {
            const auto names = names_in(top_);
            if (!names)
                return system_error(errno, "the directory cannot be listed");
            if (names->empty())
                return success();
            for (const auto& name : *names)
                if (::unlinkat(top_, name.c_str(), 0) != 0 && errno != ENOENT)
                    if (const auto done = directory(name); !done)
                        return done.failure();
        }
    }

  private:
    /// Removes a directory of the top one; its own directories are removed when empty, else moved up.
    status directory(const std::string& name) {
        const unique_fd opened = open_directory(top_, name.c_str());
        const auto names = opened ? names_in(opened.get()) : std::nullopt;
        if (!names)
            return system_error(errno, name);
        for (const auto& below : *names) {
            if (::unlinkat(opened.get(), below.c_str(), 0) == 0 || errno == ENOENT ||
                ::unlinkat(opened.get(), below.c_str(), AT_REMOVEDIR) == 0)
                continue;
            // Moving a directory writes its "..", which needs the right to write into it.
            open_directory(opened.get(), below.c_str());
            if (::renameat(opened.get(), below.c_str(), top_, fresh_name().c_str()) != 0)
                return system_error(errno, name + "/" + below);
        }
        if (::unlinkat(top_, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
            return system_error(errno, name);
        return success();
    }

    /// A name that nothing in the top directory has. A directory that takes it in between would only be replaced when
    /// it is empty.
    std::string fresh_name() {
        std::string name;
        do
            name = fmt::format(".moved-{}", count_++);
        while (::faccessat(top_, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        return name;
    }

    int top_;
    uint64_t count_ = 0;
};

} // namespace

status empty_directory(const std::string& path) {
    const unique_fd top = open_directory(AT_FDCWD, path.c_str());
    if (!top)
        return system_error(errno, path);
    const auto done = emptier(top.get()).all();
    return done ? done : status(done.failure().within(path));
}

} // namespace amd_gpu
