// Why GPUs do not work here: each check turns facts that were gathered before into one step of an answer. Pure; it
// reads nothing itself, and what is not known stays unknown.
#pragma once

#include "discovery/smi.hpp"
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

/// GPUs on PCI, whether amdgpu is bound to them, and whether KFD knows as many. Three steps.
std::vector<step> check_driver(const node& here);
/// Whether the calling user can use /dev/kfd and the render nodes. `in_job`: EPERM is then a step without GPUs.
/// Nothing is asked of card* nodes, which no HIP program needs. Unknown when `opened` is empty.
step check_rights(const std::vector<opened_device>& opened, bool in_job);
/// Whether SMI can be asked and sees as many GPUs as KFD does; if not, where its library was looked for.
step check_smi(const node& here, const smi_answer& smi);
/// Whether the daemon is there. `answers` is known to root alone, which may ask it; others see whether it has left
/// node.json.
step check_agent(const std::optional<bool>& answers, bool left_state);
/// Masks of the calling process that leave no GPU.
std::vector<step> check_masks(const std::map<std::string, std::string>& environment);

} // namespace amd_gpu
