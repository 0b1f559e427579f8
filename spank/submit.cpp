// srun, sbatch and salloc: mistakes are refused here, before anything is queued.

#include "spank/contexts.hpp"

#include "target/spelling.hpp"

#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <string>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// What Slurm itself reads as the option's default, hands to the prolog, and to the steps of a batch script.
constexpr const char* default_variable = "SLURM_SPANK__SLURM_SPANK_OPTION_amd_gpu_amd_gpu";

/// The names in the catalogue of this host; nothing when it has none.
std::optional<std::vector<std::string>> catalogue_names(const std::string& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    if (!directory)
        return std::nullopt;
    std::vector<std::string> names;
    constexpr std::string_view ending = ".toml";
    while (const dirent* entry = ::readdir(directory.get())) {
        std::string_view name = entry->d_name;
        if (!name.ends_with(ending))
            continue;
        name.remove_suffix(ending.size());
        names.emplace_back(name);
    }
    return names;
}

/// Whether the environment can be had at all, as far as this host can tell.
status check_environment(const request& option) {
    if (option.environment_is_file())
        return error{error_code::usage,
                     "env=" + quoted(option.environment) +
                         ": there is no provider for an environment from a file here; use a name of the site's"};
    if (option.environment.empty())
        return success();
    const auto names = catalogue_names(state().settings.environments);
    if (!names)
        return success(); // the nodes know
    nearest_name nearest(option.environment);
    std::string list;
    for (const auto& name : *names) {
        if (name == option.environment)
            return success();
        nearest.consider(name);
        list += (list.empty() ? "" : ", ") + name;
    }
    std::string what = "there is no environment " + quoted(option.environment);
    if (nearest.best())
        return error{error_code::usage, what + "; did you mean " + std::string(*nearest.best()) + "?"};
    return error{error_code::usage, what + (list.empty() ? "; this site has none" : "; there are " + list)};
}

int refuse(const error& failure) {
    slurm_error("--amd-gpu: %s", failure.what.c_str());
    return -1;
}

} // namespace

int submit_init(spank_t) {
    const char* wish = ::getenv("SLURM_AMD_GPU");
    if (wish == nullptr && state().settings.on_by_default)
        wish = "auto";
    if (wish != nullptr)
        ::setenv(default_variable, wish, 0);
    return 0;
}

int submit_option(const char* value) {
    auto read = parse_request(value);
    if (!read)
        return refuse(read.failure());
    if (read->help) {
        // Nothing has been submitted and nothing is open: the command ends here, as Slurm's own --cpu-bind=help does.
        std::fputs(option_help().c_str(), stdout);
        std::fflush(stdout);
        ::_exit(0);
    }
    if (const auto known = check_environment(*read); !known)
        return refuse(known.failure());
    state().option = std::move(*read);
    return 0;
}

int submit_post_option(spank_t) {
    // A step started inside an allocation may not end that allocation: the nodes learn it by this variable.
    if (spank_context() != S_CTX_LOCAL)
        return 0;
    if (::getenv("SLURM_JOB_ID") != nullptr)
        ::setenv(within_variable, "1", 1);
    else
        ::unsetenv(within_variable);
    return 0;
}

} // namespace amd_gpu
