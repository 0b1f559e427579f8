// The program of a task: where it is, and whether the loader would give it the environment's libraries.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// The file that exec would run: the name itself when it has a slash, else the first of that name in PATH that can be
/// executed; empty when there is none.
std::string find_program(const std::string& name, std::string_view path);

/// The loader that an ELF program names (PT_INTERP); empty for scripts, static programs and what cannot be read.
std::string interpreter_of(const std::string& program);

/// What a look at a program's libraries found, for the user.
struct program_check {
    std::vector<std::string> remarks;  ///< for `verbose`
    std::vector<std::string> warnings; ///< for everybody
    std::string fault;                 ///< why it would not run with the environment; empty: it would
    bool linked_so = false;            ///< the fault is a run path that the program was linked with
};

/// Asks the loader what it would load for a program, in a process of its own. `environment`: the task's, "NAME=value";
/// `variant`: where the job's environment lies. Nothing when it takes longer than `limit`.
std::optional<program_check> check_program(const std::string& name, const std::vector<std::string>& environment,
                                           const std::string& variant, std::chrono::milliseconds limit);

} // namespace amd_gpu
