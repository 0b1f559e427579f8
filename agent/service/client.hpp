// The asking side of the agent's socket: connect, send one message, read progress until the reply. Used by the plugin
// and by the command line. Every wait has a limit; a silent agent is told apart from one that is working.
#pragma once

#include "service/protocol.hpp"
#include "system/deadline.hpp"

#include <functional>

namespace amd_gpu {

/// How long the agent may be silent before it counts as dead. It reports progress every two seconds while it works.
inline constexpr std::chrono::milliseconds silence_limit{10000};

/// Sends `request` to the agent at `socket` and gives its reply. `on_progress` sees each progress record's text.
/// Errors: not_found or permission (nobody listens, not root), timed_out (silent for silence_limit, or the deadline
/// passed), peer (it died in the middle or spoke nonsense).
result<message> ask(const std::string& socket, const message& request, deadline until,
                    const std::function<void(std::string_view)>& on_progress = {});

// ---- one message over a connected socket, for both sides ----

/// Writes a whole message. Errors: peer (the other side is gone), timed_out.
status send_message(int socket, const message& what, deadline until);
/// Reads a whole message. Errors: peer (closed or nonsense), timed_out.
result<message> receive_message(int socket, deadline until);

} // namespace amd_gpu
