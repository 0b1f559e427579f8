// Looking at the file system on a user's behalf, with a limit: a look at a dead NFS server never returns.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace amd_gpu {

/// Runs `body` in a process of its own whose standard output and error are a pipe, and gives what came out of it, cut
/// at 4 MiB. The body may write to descriptor 1, or replace the process by exec; it never returns to the caller's code.
/// Nothing when the process cannot be made or is not done within `limit`: then it is killed, and left to whoever
/// inherits orphans, so that the program of this task never finds a child which it did not start.
std::optional<std::string> run_bounded(std::chrono::milliseconds limit, const std::function<void()>& body);

/// Writes a whole text to standard output; for bodies of run_bounded.
void write_out(const std::string& text);

} // namespace amd_gpu
