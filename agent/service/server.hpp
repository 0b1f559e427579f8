// The agent's socket: who may ask, and one thread for each who does. A request that takes long is answered with
// progress every two seconds, so that the asker can tell a working agent from a dead one.
#pragma once

#include "configuration/settings.hpp"
#include "service/preparations.hpp"
#include "system/fd.hpp"

namespace amd_gpu {

/// The listening socket: systemd's when it hands one over, else a new one (0600) in place of a dead one's.
/// Errors: another agent is alive there, or the directory cannot be written.
result<unique_fd> listen_at(const std::string& path);

/// SIGTERM and SIGINT as something to wait for. To be made before the first thread is, because a thread that leaves
/// them unblocked would end the process in the middle of its work.
class ending_signals {
  public:
    ending_signals();
    [[nodiscard]] int fd() const { return fd_.get(); }

  private:
    unique_fd fd_;
};

/// Serves until SIGTERM or SIGINT, then finishes what was begun (five seconds at most). False: something is still
/// running, and what it uses must not be taken down under it.
result<bool> serve(const unique_fd& listening, const ending_signals& signals, preparations& jobs);

} // namespace amd_gpu
