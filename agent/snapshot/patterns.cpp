#include "snapshot/patterns.hpp"

#include "system/files.hpp"

#include <cerrno>
#include <glob.h>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

/// What glob(3) found; frees itself.
class found_paths {
  public:
    explicit found_paths(const std::string& pattern) {
        good_ = ::glob(pattern.c_str(), GLOB_BRACE, nullptr, &paths_) == 0;
    }
    ~found_paths() { ::globfree(&paths_); }
    found_paths(const found_paths&) = delete;
    found_paths& operator=(const found_paths&) = delete;

    [[nodiscard]] std::vector<std::string> all() const {
        return good_ ? std::vector<std::string>(paths_.gl_pathv, paths_.gl_pathv + paths_.gl_pathc)
                     : std::vector<std::string>{};
    }

  private:
    glob_t paths_{};
    bool good_ = false;
};

} // namespace

std::vector<std::string> matches(const std::string& directory, const std::string& pattern) {
    if (directory.find_first_of("*?[]{}\\~") != std::string::npos)
        return {};
    return found_paths(pattern.empty() ? directory : directory + "/" + pattern).all();
}

result<archive_entry> read_path(const std::string& path) {
    struct stat about{};
    if (::lstat(path.c_str(), &about) != 0)
        return system_error(errno, path);
    archive_entry entry;
    if (S_ISDIR(about.st_mode)) {
        entry.what = archive_entry::kind::directory;
    } else if (S_ISLNK(about.st_mode)) {
        entry.what = archive_entry::kind::link;
        entry.content = read_link(path).value_or("");
    } else if (S_ISREG(about.st_mode)) {
        auto content = read_file(path, snapshot_file_limit);
        if (!content)
            return content.failure();
        entry.content = std::move(*content);
    } else {
        return error{error_code::unsupported, path + ": neither a directory nor a file nor a link"};
    }
    return entry;
}

std::string reason_of(const error& failure, const std::string& path) {
    const std::string prefix = path + ": ";
    return failure.what.starts_with(prefix) ? failure.what.substr(prefix.size()) : failure.what;
}

} // namespace amd_gpu
