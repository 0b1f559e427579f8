// env=FILE: a user's own environment. The file is read on the submit host alone; what travels to the nodes is its
// digest, with the path beside it for messages.
#pragma once

#include "result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace amd_gpu {

/// A manifest may be so long, in bytes.
inline constexpr std::size_t longest_environment_file = 1UL << 20;

/// "sha256:" and the digest of a regular file. Errors (usage), one line each: a pipe, a device, a directory (none of
/// which is waited for), too long, empty, unreadable.
result<std::string> environment_of_file(const std::string& path);

/// What a job carries: the environment's name and the path that it was read from.
struct carried_file {
    std::string name;
    std::string path;

    bool operator==(const carried_file&) const = default;
    [[nodiscard]] std::string text() const { return name + " " + path; }
};

/// Reads what text() wrote. Nothing for anything else: the variable is the user's to set, too.
std::optional<carried_file> parse_carried_file(std::string_view text);

/// The text with the environment's name replaced by the path that the user knows.
std::string told_by_path(std::string text, const carried_file& file);

} // namespace amd_gpu
