#include "service/job_caches.hpp"

#include "ranges.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

std::string directory_of(const settings& site, uint32_t job) {
    return fmt::format("{}/{}", site.job_cache_directory, job);
}

/// The job's number in "slurmstepd: [1234.batch]"; Slurm's step daemons call themselves so.
std::optional<uint32_t> job_in(std::string_view title) {
    constexpr std::string_view before = "slurmstepd: [";
    if (!title.starts_with(before))
        return std::nullopt;
    title.remove_prefix(before.size());
    return parse_decimal(title.substr(0, title.find_first_not_of("0123456789")));
}

} // namespace

std::string job_cache(const settings& site, uint32_t job, const std::string& key) {
    return site.job_cache_directory.empty() ? "" : directory_of(site, job) + "/" + key;
}

status make_job_cache_parent(const settings& site) {
    const std::string& parent = site.job_cache_directory;
    if (parent.empty())
        return success();
    if (const auto made = make_directories(parent, 0755); !made)
        return made.failure();
    struct stat found{};
    if (::lstat(parent.c_str(), &found) != 0)
        return system_error(errno, parent);
    if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid())
        return error{error_code::configuration, parent + " must be a directory of root's"};
    // Others pass through to their own; nobody lists or makes any.
    if (::chmod(parent.c_str(), 0711) != 0)
        return system_error(errno, parent);
    return success();
}

status remove_job_cache(const settings& site, uint32_t job, deadline until) {
    if (site.job_cache_directory.empty())
        return success();
    const std::string directory = directory_of(site, job);
    struct stat found{};
    if (::lstat(directory.c_str(), &found) != 0)
        return errno == ENOENT ? success() : status(system_error(errno, directory));
    // Still root's when the task that made it went no further: then it is empty.
    if (found.st_uid != ::geteuid() && S_ISDIR(found.st_mode)) {
        command remover;
        remover.arguments = {"/proc/self/exe", "empty-directory", directory};
        remover.environment = {"LC_ALL=C"};
        remover.as = identity{found.st_uid, found.st_gid, {found.st_gid}};
        const auto child = run(remover, until);
        if (!child)
            return child.failure();
        if (!child->succeeded())
            return error{error_code::internal,
                         fmt::format("{}: removing it {}: {}", directory, child->text(),
                                     trimmed(std::string_view(child->diagnostics).substr(0, 300)))};
    }
    if (::rmdir(directory.c_str()) != 0 && errno != ENOENT)
        return system_error(errno, directory);
    return success();
}

void remove_old_job_caches(const settings& site, const std::function<bool(uint32_t job)>& alive, deadline until) {
    if (site.job_cache_directory.empty())
        return;
    for (const std::string& name : list_directory(site.job_cache_directory)) {
        const auto job = parse_decimal(name);
        if (!job || fmt::to_string(*job) != name || alive(*job))
            continue;
        if (const auto done = remove_job_cache(site, *job, until); !done)
            ::syslog(LOG_WARNING, "caches of job %u: %s", *job, done.failure().what.c_str());
    }
}

bool has_step_daemon(uint32_t job) {
    const auto processes = list_directory("/proc");
    return std::any_of(processes.begin(), processes.end(), [&](const std::string& name) {
        if (!parse_decimal(name))
            return false;
        const auto title = read_file("/proc/" + name + "/cmdline");
        return title && job_in(*title) == job;
    });
}

} // namespace amd_gpu
