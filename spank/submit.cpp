// srun, sbatch and salloc: mistakes are refused here, before anything is queued.

#include "spank/contexts.hpp"

#include "spank/environment_file.hpp"
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

/// Whether a word of this command begins so. Neither SPANK nor the variables tell what came from the command line. An
/// argument of the user's program that looks like it is taken for it.
bool on_command_line(std::string_view beginning) {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/cmdline", "re"), std::fclose);
    char* word = nullptr;
    std::size_t room = 0;
    bool found = false;
    while (file && !found && ::getdelim(&word, &room, '\0', file.get()) > 0)
        found = std::string_view(word).starts_with(beginning);
    std::free(word);
    return found;
}

/// What env=FILE stands for, ready to travel. A step that inherits its job's option inherits what the file was when the
/// job was submitted; and where the file cannot be read, as on a node, what it was then is all there is.
result<carried_file> file_of(const std::string& path) {
    const char* inherited = ::getenv(file_variable);
    auto before = parse_carried_file(inherited == nullptr ? "" : inherited);
    const bool same = before && before->path == path;
    if (same && !on_command_line("--amd-gpu"))
        return std::move(*before);
    auto name = environment_of_file(path);
    if (name)
        return carried_file{std::move(*name), path};
    if (same)
        return std::move(*before);
    return name.failure();
}

/// Whether the environment can be had at all, as far as this host can tell.
status check_environment(const request& option) {
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

void tell_nodes(const char* variable, bool yes) {
    if (yes)
        ::setenv(variable, "1", 1);
    else
        ::unsetenv(variable);
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
    state().file.reset();
    if (read->environment_is_file() && !read->off) {
        auto file = file_of(read->environment);
        if (!file)
            return refuse(file.failure());
        state().file = std::move(*file);
    } else if (const auto known = check_environment(*read); !known) {
        return refuse(known.failure());
    }
    state().option = std::move(*read);
    return 0;
}

int submit_post_option(spank_t spank) {
    if (state().file) {
        const std::string text = state().file->text();
        ::setenv(file_variable, text.c_str(), 1);
        if (spank_job_control_setenv(spank, file_variable_of_job, text.c_str(), 1) != ESPANK_SUCCESS)
            return refuse({error_code::internal, "Slurm does not take the digest of env=FILE along"});
    }
    if (spank_context() != S_CTX_LOCAL)
        return 0;
    // Two things that only srun knows, for the nodes to find in the task's environment.
    tell_nodes(within_variable, ::getenv("SLURM_JOB_ID") != nullptr);
    // On the node every binding looks like Slurm's own.
    tell_nodes(binds_variable, on_command_line("--cpu-bind") || on_command_line("--cpu_bind"));
    return 0;
}

} // namespace amd_gpu
