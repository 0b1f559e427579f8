// The agent's socket: who may ask, and one thread for each who does. A request that takes long is answered with progress
// every two seconds, so that the asker can tell a working agent from a dead one.
#pragma once

#include "configuration/settings.hpp"
#include "service/preparations.hpp"
#include "system/fd.hpp"

namespace amd_gpu {

/// The listening socket: systemd's when it hands one over, else a new one (0600) in place of a dead one's.
/// Errors: another agent is alive there, or the directory cannot be written.
result<unique_fd> listen_at(const std::string& path);

/// Serves until SIGTERM or SIGINT, then finishes what was begun (five seconds at most). False: something is still running,
/// and what it uses must not be taken down under it.
result<bool> serve(const unique_fd& listening, preparations& jobs);

} // namespace amd_gpu
