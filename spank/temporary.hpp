// Hints about TMPDIR: runtimes put shared memory, kernels and sockets there, and fail in ways that do not name it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace amd_gpu {

/// What is known of a directory.
struct directory_facts {
    bool exists = false;     ///< and is a directory
    bool writable = false;   ///< by this user
    bool executable = false; ///< programs and libraries in it can be run and loaded
    bool in_memory = false;  ///< its files take the memory of the node
    uint64_t free_bytes = 0; ///< for this user

    bool operator==(const directory_facts&) const = default;
};

/// Looks at a directory; the caller bounds the time.
directory_facts look_at_directory(const std::string& path);

/// The same as a text of one line, and back; nothing when it is none.
std::string to_text(const directory_facts& facts);
std::optional<directory_facts> parse_directory_facts(const std::string& text);

/// One line about a TMPDIR that will make trouble; empty for a good one.
std::string temporary_hint(const std::string& path, const directory_facts& facts);

} // namespace amd_gpu
