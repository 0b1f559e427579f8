// What passes between the agent and its child that downloads: the request in a file in memory, so that no address or
// proxy with a password in it shows in a list of processes; and lines of JSON back.
#pragma once

#include "system/download.hpp"

#include <optional>
#include <string_view>
#include <utility>

namespace amd_gpu {

/// The request as JSON, with the time that the child has.
std::string to_child_request(const download_request& what, std::chrono::milliseconds limit);
/// Reads it. Error (peer): it is no such request.
result<std::pair<download_request, std::chrono::milliseconds>> parse_child_request(std::string_view text);

/// One line of the child.
struct child_message {
    enum class kind { amount, say, unreachable, busy, end };
    kind what = kind::say;
    uint64_t bytes = 0;    ///< amount
    std::string text;      ///< say, unreachable, busy
    uint64_t seconds = 0;  ///< busy
    status ended{error{}}; ///< end
};
std::string to_line(const child_message& from);
/// Reads a line. Nothing on anything else.
std::optional<child_message> parse_child_line(std::string_view line);

/// The child: reads its request from descriptor 3, fills the file at descriptor 4 and writes its lines to standard
/// output. Gives its exit status.
int download_as_child();

} // namespace amd_gpu
