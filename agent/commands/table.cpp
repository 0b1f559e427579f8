#include "commands/table.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace amd_gpu {

std::string table(const std::vector<std::vector<std::string>>& rows, std::string_view alignment) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column) {
            widths[column] = std::max(widths[column], row[column].size());
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column) {
            const bool right = column < alignment.size() && alignment[column] == 'r';
            if (column > 0)
                line += "  ";
            line += right ? fmt::format("{:>{}}", row[column], widths[column])
                          : fmt::format("{:<{}}", row[column], widths[column]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

} // namespace amd_gpu
