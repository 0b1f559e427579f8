#include "placement/map_text.hpp"

#include "ranges.hpp"

#include <algorithm>
#include <array>

namespace amd_gpu {
namespace {

constexpr std::size_t columns = 7;
using line = std::array<std::string, columns>;

std::string aligned(const line& cells, const std::array<std::size_t, columns>& widths) {
    std::string text;
    for (std::size_t i = 0; i < columns; ++i)
        text += cells[i] + std::string(widths[i] - cells[i].size() + 2, ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

} // namespace

std::vector<std::string> map_lines(const std::string& node, const std::vector<rank_place>& rows,
                                   const std::vector<gcd_label>& gcds, const std::vector<uint32_t>& ranks) {
    std::vector<line> table{{"rank", "node", "GCD", "BDF", "NUMA", "CPUs", ""}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto& place = rows[row];
        line cells{std::to_string(row < ranks.size() ? ranks[row] : row), node,        "-", "-", "-",
                   place.cpus.empty() ? "-" : ranges_text(place.cpus),    place.remark};
        for (const auto gcd : place.gcds) {
            cells[2] = std::to_string(gcds[gcd].index);
            cells[3] = gcds[gcd].bdf;
            cells[4] = gcds[gcd].numa ? std::to_string(*gcds[gcd].numa) : "-";
            table.push_back(cells);
            cells[0] = cells[1] = cells[5] = cells[6] = "";
        }
        if (place.gcds.empty())
            table.push_back(cells);
    }
    std::array<std::size_t, columns> widths{};
    for (const auto& cells : table)
        for (std::size_t i = 0; i < columns; ++i)
            widths[i] = std::max(widths[i], cells[i].size());
    std::vector<std::string> lines;
    for (const auto& cells : table)
        lines.push_back(aligned(cells, widths));
    return lines;
}

} // namespace amd_gpu
