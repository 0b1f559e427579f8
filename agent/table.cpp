#include "table.hpp"

#include <algorithm>

namespace amd_gpu {

std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    std::vector<std::string> lines;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const bool right = column < alignment.size() && alignment[column] == 'r';
            const std::string space(widths[column] - row[column].size(), ' ');
            line += (column > 0 ? "  " : "") + (right ? space + row[column] : row[column] + space);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
    std::string text;
    for (const auto& line : table_lines(rows, alignment))
        text += line + "\n";
    return text;
}

} // namespace amd_gpu
