// The rest of an activation, in the task itself and as its user, once the edits are known: what other software has left
// in the way of the environment, and whether the task's program will be given the environment's libraries.
#pragma once

#include "service/exchange.hpp"
#include "spank/first_task.hpp"
#include "spank/plugin_settings.hpp"
#include "spank/spank_api.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// Set by the agent among its edits: the directory of the variant that the job gets.
inline constexpr const char* variant_variable = "SLURM_AMD_GPU_VARIANT";

/// Where the environment of a reply lies; nothing when it has none.
std::optional<std::string> variant_in(const std::vector<edit>& edits);

/// Edits that take out what an outer step's environment (`old`) left in the lists that the new one extends, so that two
/// are never mixed. Pure: `value` gives the task's variables.
std::vector<edit> leaving_edits(const std::vector<edit>& edits, const std::string& old,
                                const std::function<std::optional<std::string>(const std::string&)>& value);

/// What became of it.
struct activation_report {
    std::vector<std::string> lines;   ///< for everybody
    std::vector<std::string> details; ///< for `verbose`
    std::string fault;                ///< why this task must end; for the first one to say
};

/// What the activation depends on besides the reply.
struct activation_wish {
    loader_check check = loader_check::stop;
    bool named = false; ///< the user named the environment; else it is the site's default
    bool first = false; ///< the first task of this node: it looks at the program for all of them
};

/// To be called when the edits have been applied: puts LD_LIBRARY_PATH into order and checks the program.
activation_report finish_activation(spank_t spank, const std::string& variant, const activation_wish& wish,
                                    const first_task& all);

/// Why exec would refuse this task's environment and arguments; empty when they fit.
std::string too_large(spank_t spank);

} // namespace amd_gpu
