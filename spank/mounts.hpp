// Software that works at one path only, put there for the tasks of one step: a mount namespace of the task's own.
#pragma once

#include "result.hpp"
#include "service/exchange.hpp"

#include <vector>

namespace amd_gpu {

/// As root, in the process that becomes a task: leaves the node's mount namespace for one of its own and binds each
/// source to its target, read-only, without devices and set-user-id programs. What is mounted on the node later still
/// arrives; nothing of this reaches the node. Without mounts it does nothing. Errors: a target that does not exist; the
/// kernel's refusal.
status mount_for_task(const std::vector<mount_request>& mounts);

} // namespace amd_gpu
