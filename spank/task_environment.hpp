// A task's environment, read and changed through SPANK.
#pragma once

#include "environment/edits.hpp"
#include "spank/spank_api.hpp"

#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// A variable of the task; nothing when it is not set.
std::optional<std::string> task_variable(spank_t spank, const std::string& name);

/// Applies edits in order. Gives the names of the variables that could not be changed.
std::vector<std::string> apply_to_task(spank_t spank, const std::vector<edit>& edits);

} // namespace amd_gpu
