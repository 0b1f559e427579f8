// What a package's partition modes make of its one row in a model: a KFD node for each partition, with its part of the
// compute units and of the memory.
#include "tests/sim/node/model.hpp"

#include <algorithm>

namespace sim {
namespace {

/// How many partitions compute MODE makes of a package with XCCS compute dies; 0: no such mode.
std::int64_t count_of(const std::string& mode, std::int64_t xccs) {
    static const std::map<std::string, std::int64_t> counts = {{"SPX", 1}, {"DPX", 2}, {"TPX", 3}, {"QPX", 4}};
    const auto known = counts.find(mode);
    return mode == "CPX" ? xccs : (known == counts.end() ? 0 : known->second);
}

/// Partition NUMBER of COUNT of the package G, whose memory is in DOMAINS parts.
gcd part_of(const gcd& g, int number, int count, int domains) {
    gcd part = g;
    part.partition = number;
    part.partitions = count;
    for (const char* divided : {"simd_count", "array_count", "num_xcc", "num_sdma_engines", "num_sdma_xgmi_engines"}) {
        if (const auto found = part.kfd.find(divided); found != part.kfd.end()) {
            found->second = std::max<std::int64_t>(found->second / count, 0);
        }
    }
    // One domain is shared whole; of several, KFD shows each partition an even part (25767706624 bytes of an MI300X in
    // CPX/NPS4, as published).
    const int parts = domains == 1 ? 1 : std::max(count, domains);
    part.function_vram_bytes = g.vram_bytes;
    part.function_vram_used_bytes = g.vram_used_bytes;
    part.vram_bytes = g.vram_bytes / parts;
    part.vram_used_bytes = g.vram_used_bytes / parts;
    return part;
}

} // namespace

status expand_partitions(model& m) {
    std::vector<gcd> all;
    std::vector<std::size_t> board_of;
    for (std::size_t board = 0; board < m.gcds.size(); ++board) {
        const gcd& g = m.gcds[board];
        const std::string where = "gcds[" + std::to_string(board) + "]";
        std::int64_t count = 1;
        int domains = 1;
        if (!g.compute_partition.empty()) {
            const auto xccs = g.kfd.find("num_xcc");
            count = count_of(g.compute_partition, xccs == g.kfd.end() ? 1 : xccs->second);
            const std::string& memory = g.memory_partition;
            domains = memory.size() == 4 && memory.rfind("NPS", 0) == 0 ? memory[3] - '0' : 0;
            if (count < 1 || count > 8 || (domains != 1 && domains != 2 && domains != 4 && domains != 8)) {
                return error{error_code::configuration, where + " has no such compute_partition or memory_partition"};
            }
        }
        for (int number = 0; number < count; ++number) {
            all.push_back(part_of(g, number, static_cast<int>(count), domains));
            board_of.push_back(board);
        }
    }
    std::vector<std::vector<int>> links(all.size(), std::vector<int>(all.size(), 0));
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < all.size(); ++j) {
            const bool same = board_of[i] == board_of[j];
            links[i][j] = same ? static_cast<int>(i != j) : m.links[board_of[i]][board_of[j]];
        }
    }
    m.gcds = std::move(all);
    m.links = std::move(links);
    return success();
}

} // namespace sim
