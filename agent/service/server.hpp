// The agent's socket: who may ask, and one thread for each who does. A request that takes long is answered with
// progress every two seconds, so that the asker can tell a working agent from a dead one.
#pragma once

#include "configuration/settings.hpp"
#include "service/preparations.hpp"
#include "system/fd.hpp"

namespace amd_gpu {

/// A listening socket. One that we made takes its file with it; systemd's stays where systemd listens.
struct listener {
    unique_fd socket;
    std::string own_path; ///< empty when systemd made it

    listener(unique_fd listening, std::string path)
        : socket(std::move(listening))
        , own_path(std::move(path)) {}
    listener(listener&&) = default;
    listener& operator=(listener&&) = delete;
    ~listener();
};

/// systemd's socket when it hands one over, else a new one (0600) in place of a dead agent's.
/// Errors: another agent is alive there, or the directory cannot be written.
result<listener> listen_at(const std::string& path);

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
result<bool> serve(const listener& listening, const ending_signals& signals, preparations& jobs);

} // namespace amd_gpu
