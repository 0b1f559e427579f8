#include "spank/job_cache.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// A variable and the directory that it names.
struct cache_variable {
    const char* name;
    const char* directory;
};

// MIOpen's two (MIOpen, doc/src/cache.md and find_db): the user's database, and the kernels that it compiled; and the
// code object manager's (llvm-project, amd/comgr/docs).
constexpr cache_variable variables[] = {{"MIOPEN_USER_DB_PATH", "/miopen"},
                                        {"MIOPEN_CUSTOM_CACHE_DIR", "/miopen-kernels"},
                                        {"AMD_COMGR_CACHE_DIR", "/comgr"}};

error failed(const std::string& path, int number) {
    return {number == EACCES || number == EPERM ? error_code::permission : error_code::internal,
            path + ": " + ::strerror(number)};
}

/// Several tasks make the same directories at once, so one that exists is as good as one that was made.
status make_directory(const std::string& path) {
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return failed(path, errno);
    return success();
}

} // namespace

std::string job_directory_of(const std::string& cache) {
    return cache.substr(0, cache.rfind('/'));
}

status make_job_directory(const std::string& directory, uid_t user, gid_t group) {
    if (const auto made = make_directory(directory); !made)
        return made.failure();
    const int opened = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0)
        return failed(directory, errno);
    struct stat found{};
    int problem = ::fstat(opened, &found) == 0 ? 0 : errno;
    // Ours as long as no task has given it away; its mode keeps everybody else out from the beginning.
    if (problem == 0 && found.st_uid == ::geteuid() && found.st_uid != user)
        problem = ::fchown(opened, user, group) == 0 ? 0 : errno;
    else if (problem == 0 && found.st_uid != user)
        problem = EEXIST;
    ::close(opened);
    if (problem == EEXIST)
        return error{error_code::permission, directory + " belongs to another user"};
    return problem == 0 ? success() : status(failed(directory, problem));
}

status make_caches(const std::string& cache) {
    if (const auto made = make_directory(cache); !made)
        return made.failure();
    for (const auto& one : variables)
        if (const auto made = make_directory(cache + one.directory); !made)
            return made.failure();
    return success();
}

std::vector<edit> cache_edits(const std::string& cache) {
    std::vector<edit> edits;
    for (const auto& one : variables)
        edits.push_back({edit::kind::fallback, one.name, cache + one.directory});
    return edits;
}

} // namespace amd_gpu
