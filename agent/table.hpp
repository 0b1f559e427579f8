// Text in columns for people to read. It knows nothing of what it prints. Nothing but the standard library, because the
// plugin uses it, too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Rows as lines, columns as wide as their widest cell and two spaces apart, without space at the ends of lines.
/// `alignment` has a letter for each column, 'l' or 'r'; columns beyond it are left-aligned. Widths count bytes: ASCII.
std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows, std::string_view alignment);
/// The same as one text, each line with its end.
std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment);

} // namespace amd_gpu
