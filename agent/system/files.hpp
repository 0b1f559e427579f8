// Small files: reading what the kernel or an administrator wrote, writing our own so that a reader never sees half of
// one.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace amd_gpu {

/// The whole file, at most `limit` bytes (more is an error: nothing we read is that large). not_found, permission and
/// internal tell ENOENT, EACCES/EPERM and the rest apart.
result<std::string> read_file(const std::string& path, std::size_t limit = 1 << 20);
/// The first line without its end and without surrounding white space; nothing when the file cannot be read or is
/// empty.
std::optional<std::string> read_line(const std::string& path);
/// An unsigned number from the first line: decimal, or hexadecimal with 0x. Nothing on anything else, signs included.
std::optional<uint64_t> read_number(const std::string& path);
/// The target of a symbolic link, as written in it.
std::optional<std::string> read_link(const std::string& path);
/// Names in a directory, sorted, without "." and ".."; empty when it cannot be read.
std::vector<std::string> list_directory(const std::string& path);
/// Replaces a file as one step: written beside it, fsynced, renamed. Other names are left alone.
status write_file_atomically(const std::string& path, std::string_view content, mode_t mode);
/// Makes a directory and those above it (mode for the new ones); fine when it exists.
status make_directories(const std::string& path, mode_t mode);
/// Parses a whole text as an unsigned number; 0x means hexadecimal. Nothing on anything else.
std::optional<uint64_t> parse_number(std::string_view text);
/// Text without white space at both ends.
std::string_view trimmed(std::string_view text);
/// A text with every occurrence of `what` replaced.
std::string replaced(std::string text, std::string_view what, const std::string& by);
/// "a,b,,c" split at a separator; empty parts are kept.
std::vector<std::string> split(std::string_view text, char separator);
/// errno in words with the code of our own that fits it.
error system_error(int number, const std::string& what);

} // namespace amd_gpu
