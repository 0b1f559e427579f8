#include "service/report.hpp"

#include <fmt/format.h>
#include <map>

namespace amd_gpu {
namespace {

using state = check_result::state;

std::string cell(const check_result& check) {
    const std::string mark = check.how == state::fail ? " FAIL" : check.how == state::warn ? " !" : "";
    if (check.unit == "errors")
        return check.how == state::pass ? "no errors" : check.evidence + mark;
    if (!check.measured)
        return check.evidence + mark;
    const std::string floor = check.floor ? fmt::format("(floor {:.4g})", *check.floor) : "(no floor)";
    return fmt::format("{:.{}f} {} {}{}", *check.measured, *check.measured < 100 ? 2 : 0, check.unit, floor, mark);
}

uint32_t index_of(const node& where, const gcd_id& bdf) {
    const gcd* die = find_gcd(where, bdf);
    return die == nullptr ? 0 : die->index;
}

} // namespace

std::vector<std::string> probe_lines(const node& where, const std::vector<gcd_id>& bdfs,
                                     const std::vector<check_result>& checks) {
    std::vector<std::string> lines;
    for (const auto& bdf : bdfs) {
        std::string line = fmt::format("GCD {} {}", index_of(where, bdf), bdf.text());
        for (const auto& check : checks)
            if (check.bdf == bdf && !check.peer)
                line += fmt::format("  {} {}", check.check, cell(check));
        lines.push_back(std::move(line));
    }
    for (const auto& check : checks)
        if (check.peer && (check.how == state::fail || check.how == state::warn))
            lines.push_back(text_of(check));
    const auto matrix = matrix_lines(where, bdfs, checks);
    lines.insert(lines.end(), matrix.begin(), matrix.end());
    return lines;
}

std::vector<std::string> matrix_lines(const node& where, const std::vector<gcd_id>& bdfs,
                                      const std::vector<check_result>& checks) {
    std::map<std::pair<gcd_id, gcd_id>, double> measured;
    bool all_verified = true;
    for (const auto& check : checks) {
        if (!check.peer || !check.measured)
            continue;
        measured[{check.bdf, *check.peer}] = *check.measured;
        all_verified = all_verified && check.evidence.find("wrong contents") == std::string::npos;
    }
    if (measured.empty())
        return {};
    std::vector<std::string> lines;
    lines.push_back(fmt::format("pairs, GB/s from row to column, contents {}:", all_verified ? "verified" : "WRONG"));
    std::string head = "GCD   ";
    for (const auto& to : bdfs)
        head += fmt::format("{:>6}", index_of(where, to));
    lines.push_back(std::move(head));
    for (const auto& from : bdfs) {
        std::string row = fmt::format("{:<6}", index_of(where, from));
        for (const auto& to : bdfs) {
            const auto found = measured.find({from, to});
            row += found == measured.end() ? fmt::format("{:>6}", "-") : fmt::format("{:>6.0f}", found->second);
        }
        lines.push_back(std::move(row));
    }
    return lines;
}

} // namespace amd_gpu
