// The targets that a command is about: those named on its command line, or this node's.
#pragma once

#include "configuration/settings.hpp"
#include "target/target.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// "gfx90a,gfx942". Errors (usage): one is no target.
result<std::vector<target_id>> named_targets(const std::string& list);

/// Of every GCD of this node that a job could be given. Errors: those of discovery; (not_found) there is none;
/// (unsupported) the target of one is not known.
result<std::vector<target_id>> targets_here(const settings& site);

} // namespace amd_gpu
