// The SPANK plugin's entry points: which callback in which context does what. Nothing else is decided here. No
// exception leaves a callback, and a callback of a job that does not ask for us returns before it does any I/O.

#include "spank/contexts.hpp"

#include <cstring>
#include <exception>
#include <unistd.h>

extern "C" {
#pragma GCC visibility push(default)
SPANK_PLUGIN(amd_gpu, 1)
#pragma GCC visibility pop
}

namespace amd_gpu {

plugin_state& state() {
    static plugin_state of_this_process;
    return of_this_process;
}

namespace {

/// Runs the body of a callback; an exception (out of memory, or a bug) is reported and becomes a failure.
template<typename Body>
int guarded(const char* where, Body body) noexcept {
    try {
        return body();
    } catch (const std::exception& problem) {
        slurm_error("amd-gpu: internal error in %s: %s", where, problem.what());
    } catch (...) {
        slurm_error("amd-gpu: internal error in %s", where);
    }
    return -1;
}

bool submitting() {
    const auto context = spank_context();
    return context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR;
}

int read_settings(int count, char** words) {
    auto read = parse_plugin_settings(count, words);
    if (!read) {
        state().problem = read.failure().what;
        slurm_error("amd-gpu: %s", state().problem.c_str());
        return -1;
    }
    state().settings = std::move(*read);
    return 0;
}

/// Slurm may call it twice with the same value, and with no value at all.
int option_given(int, const char* value, int) {
    return guarded("the option", [&] {
        const char* text = value == nullptr ? "" : value;
        return submitting() ? submit_option(text) : step_option(text);
    });
}

} // namespace

/// Static, because a prolog asks for the option's value without slurm_spank_init ever having been called.
spank_option the_option{
    const_cast<char*>("amd-gpu"),
    const_cast<char*>("ITEM[,ITEM...]"),
    const_cast<char*>(
        "prepare the job's AMD GPUs: auto, target IDs to accept, env=NAME, probe=LEVEL, ... (--amd-gpu=help)"),
    1,
    0,
    option_given};

} // namespace amd_gpu

using namespace amd_gpu;

extern "C" {
#pragma GCC visibility push(default)

int slurm_spank_init(spank_t spank, int count, char** words) {
    return guarded("slurm_spank_init", [&] {
        const bool local = submitting();
        if (!local && spank_remote(spank) != 1)
            return 0; // slurmd itself
        if (read_settings(count, words) != 0 && local)
            return -1; // on a node the tasks of jobs that ask for us will say it
        if (spank_option_register(spank, &the_option) != ESPANK_SUCCESS) {
            slurm_error("amd-gpu: the option --amd-gpu cannot be registered");
            return -1;
        }
        return local ? submit_init(spank) : 0;
    });
}

int slurm_spank_init_post_opt(spank_t spank, int, char**) {
    return guarded("slurm_spank_init_post_opt", [&] {
        if (!state().option || state().option->off)
            return 0;
        return submitting() ? submit_post_option(spank) : spank_remote(spank) == 1 ? step_post_option(spank) : 0;
    });
}

int slurm_spank_job_prolog(spank_t spank, int count, char** words) {
    return guarded("slurm_spank_job_prolog", [&] { return read_settings(count, words) == 0 ? job_prolog(spank) : 0; });
}

int slurm_spank_job_epilog(spank_t spank, int count, char** words) {
    return guarded("slurm_spank_job_epilog", [&] { return read_settings(count, words) == 0 ? job_epilog(spank) : 0; });
}

// These two run in the process that becomes the task. Slurm ignores the return code of an optional plugin, and a task
// must not run unprepared because of a failure of our own.
int slurm_spank_task_init_privileged(spank_t spank, int, char**) {
    if (guarded("slurm_spank_task_init_privileged",
                [&] { return state().option && !state().option->off ? task_privileged(spank) : 0; }) != 0)
        ::_exit(1);
    return 0;
}

int slurm_spank_task_init(spank_t spank, int, char**) {
    if (guarded("slurm_spank_task_init",
                [&] { return state().option && !state().option->off ? task_start(spank) : 0; }) != 0)
        ::_exit(1);
    return 0;
}

int slurm_spank_exit(spank_t spank, int, char**) {
    return guarded("slurm_spank_exit", [&] {
        return state().option && !state().option->off && spank_remote(spank) == 1 ? step_exit() : 0;
    });
}

#pragma GCC visibility pop
}
