// In which xnack mode a job's processes will run on a GCD, and so which code fits. The mode belongs to the process: the
// driver sets a default, and on some processors HSA_XNACK chooses. Pure.
#pragma once

#include "node/node.hpp"

#include <optional>
#include <vector>

namespace amd_gpu {

/// The xnack mode that a list of accepted targets asks for: the one that all of them name. Nothing when one is open to
/// either or they differ.
std::optional<bool> asked_xnack(const std::vector<target_id>& accepted);

/// The target of processes on a GCD: with the wished mode where a process may choose, else with the driver's default.
/// Nothing when the processor is unknown.
std::optional<target_id> process_target(const gcd& die, std::optional<bool> wish);

/// What HSA_XNACK must be for that: nothing when the default will do, or when it cannot be chosen.
std::optional<bool> needed_xnack(const gcd& die, std::optional<bool> wish);

} // namespace amd_gpu
