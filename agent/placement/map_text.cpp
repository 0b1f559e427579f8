#include "placement/map_text.hpp"

#include "ranges.hpp"
#include "table.hpp"

namespace amd_gpu {
std::vector<std::string> map_lines(const std::string& node, const std::vector<rank_place>& rows,
                                   const std::vector<gcd_label>& gcds, const std::vector<uint32_t>& ranks) {
    std::vector<std::vector<std::string>> lines{{"rank", "node", "GCD", "BDF", "NUMA", "CPUs", ""}};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        const auto& place = rows[row];
        std::vector<std::string> cells{
            std::to_string(row < ranks.size() ? ranks[row] : row), node,        "-", "-", "-",
            place.cpus.empty() ? "-" : ranges_text(place.cpus),    place.remark};
        for (const auto gcd : place.gcds) {
            cells[2] = std::to_string(gcds[gcd].index);
            cells[3] = gcds[gcd].bdf;
            cells[4] = gcds[gcd].numa ? std::to_string(*gcds[gcd].numa) : "-";
            lines.push_back(cells);
            cells[0] = cells[1] = cells[5] = cells[6] = "";
        }
        if (place.gcds.empty())
            lines.push_back(cells);
    }
    return table_lines(lines, "");
}

} // namespace amd_gpu
