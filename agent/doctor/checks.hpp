// Why GPUs do not work here: each check turns facts that were gathered before into one step of an answer. Pure; it
// reads nothing itself, and what is not known stays unknown.
#pragma once

#include "node/node.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace amd_gpu {

/// One thing that must be right for a job to use the GPUs.
struct step {
    enum class state {
        ok,
        warning, ///< works, but not as it should
        wrong,
        unknown, ///< could not be found out
        skipped, ///< depends on something that is wrong already, or does not apply
    };
    state found = state::unknown;
    std::string check;  ///< "driver", "rights"
    std::string text;   ///< one line: what was found
    std::string remedy; ///< one line: how to mend it; empty when there is nothing to mend
};

/// "ok", "warning", "wrong", "unknown" or "skipped".
std::string_view text_of(step::state state);

/// What came of opening a device file.
struct opened_device {
    std::string path;
    int error = 0;              ///< errno of open(2); 0: it could be opened
    std::optional<mode_t> mode; ///< permission bits; unknown when the file is not there
    std::string owner;          ///< "root:render"
};

/// The settings that `scontrol show config` prints, name -> value; "(null)" is an empty value.
using slurm_settings = std::map<std::string, std::string>;
slurm_settings slurm_settings_in(std::string_view output);

/// A line of plugstack.conf that names our plugin.
struct plugin_line {
    bool required = false;
    std::string path; ///< as written: a name without a slash is looked up in PluginDir
};
/// The first line that loads amd_gpu.so. Nothing when there is none. `include` lines are not followed.
std::optional<plugin_line> plugin_line_in(std::string_view plugstack);

/// GPUs on PCI, whether amdgpu is bound to them, and whether KFD knows as many. Three steps.
std::vector<step> check_driver(const node& here);
/// Whether the calling user can use /dev/kfd and the render nodes. `in_job`: EPERM is then a step without GPUs.
/// Nothing is asked of card* nodes, which no HIP program needs. Unknown when `opened` is empty.
step check_rights(const std::vector<opened_device>& opened, bool in_job);
/// Whether SMI sees as many GPUs as KFD does.
step check_smi(const node& here);
/// Whether the daemon is there. `answers` is known to root alone, which may ask it; others see whether it has left
/// node.json.
step check_agent(const std::optional<bool>& answers, bool left_state);
/// PrologFlags: Alloc and DeferBatch must be there, RunInJob must not (Slurm's slurm.conf(5)).
step check_prolog_flags(const slurm_settings& slurm);
/// Whether Slurm counts GPUs at all.
step check_gres_types(const slurm_settings& slurm);
/// Whether a job's devices are fenced: TaskPlugin has task/cgroup and cgroup.conf says ConstrainDevices=yes.
step check_fence(const slurm_settings& slurm, const std::optional<std::string>& cgroup_conf);
/// Whether plugstack.conf loads our plugin, and its file is there (unknown: it could not be looked up).
step check_plugin(const std::optional<std::string>& plugstack, const std::optional<bool>& file_exists);
/// Variables of the calling process that change what a HIP program sees: masks and overrides.
std::vector<step> check_variables(const std::map<std::string, std::string>& environment);

} // namespace amd_gpu
