#include "commands/node_text.hpp"

#include "node/json.hpp"
#include "ranges.hpp"
#include "system/files.hpp"
#include "table.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

constexpr const char* unknown = "-";
/// A matrix of more GCDs fits no terminal.
constexpr std::size_t most_in_matrix = 16;

template<typename T>
std::string text_or_unknown(const std::optional<T>& fact) {
    return fact ? fmt::format("{}", *fact) : unknown;
}

std::string memory_of(const gcd& g) {
    if (!g.memory_bytes)
        return unknown;
    std::string text = fmt::format("{:.0f} GiB", static_cast<double>(*g.memory_bytes) / (1ULL << 30));
    if (g.memory_shared_by.value_or(1) > 1)
        text += fmt::format(" shared by {}", *g.memory_shared_by);
    return text;
}

/// "Gen4 x16". The generations by their speed per lane: PCI Express Base Specification 6.0, 1.2 (2.5 GT/s is the first,
/// and each of the others is twice as fast as the one before or nearly so).
std::string pcie_of(const gcd& g) {
    constexpr std::pair<double, int> generations[] = {{2.5, 1}, {5, 2}, {8, 3}, {16, 4}, {32, 5}, {64, 6}};
    std::string speed = unknown;
    if (g.pcie_gt_per_s) {
        speed = fmt::format("{:g}GT/s", *g.pcie_gt_per_s);
        for (const auto& [gt_per_s, generation] : generations)
            if (*g.pcie_gt_per_s == gt_per_s)
                speed = fmt::format("Gen{}", generation);
    } else if (!g.pcie_width) {
        return unknown;
    }
    return fmt::format("{} x{}", speed, g.pcie_width ? std::to_string(*g.pcie_width) : "?");
}

/// The model, else the driver's name for it without the words that all of them share; cut, because the name of a
/// product that is not in the table would push everything else off the screen.
std::string model_of(const gcd& g) {
    if (g.model)
        return printable(*g.model);
    if (!g.product)
        return unknown;
    std::string_view name = *g.product;
    for (const std::string_view common : {"AMD ", "Instinct ", "INSTINCT ", "Radeon "})
        if (name.starts_with(common))
            name.remove_prefix(common.size());
    return printable(std::string(trimmed(name.substr(0, 14))));
}

std::vector<std::string> row_of(const gcd& g) {
    return {std::to_string(g.index),
            g.id().text(),
            text_or_unknown(g.package),
            model_of(g),
            !g.bound   ? "not bound"
            : g.target ? g.target->text()
                       : unknown,
            memory_of(g),
            text_or_unknown(g.numa),
            g.cores.empty() ? unknown : ranges_text(g.cores),
            g.render_minor ? fmt::format("D{}", *g.render_minor) : unknown,
            text_or_unknown(g.smi_index),
            pcie_of(g)};
}

bool partitioned(const node& what) {
    return std::any_of(what.gcds.begin(), what.gcds.end(), [](const gcd& g) { return g.partition.has_value(); });
}

/// "Board 0000:05:00.0: MI300X, CPX, NPS4, 8 partitions"
std::string board_line(const node& what, const gcd& first) {
    const auto partitions = std::count_if(what.gcds.begin(), what.gcds.end(),
                                          [&](const gcd& g) { return g.partition && g.bdf == first.bdf; });
    std::string line = fmt::format("Board {}: {}", first.bdf.text(), model_of(first));
    for (const auto& mode : {first.compute_partition, first.memory_partition})
        if (mode)
            line += ", " + printable(*mode);
    return line + (partitions > 0 ? fmt::format(", {} partitions\n", partitions) : "\n");
}

std::string gcd_table(const node& what) {
    std::vector<std::vector<std::string>> rows = {
        {"GCD", "PCI address", "pkg", "model", "target", "memory", "NUMA", "closest cores", "render", "SMI", "PCIe"}};
    for (const auto& g : what.gcds)
        rows.push_back(row_of(g));
    const std::string text = table(rows, "rlrllrrllrl");
    if (!partitioned(what))
        return text;
    std::string grouped;
    std::size_t at = 0;
    for (std::size_t line = 0; line < rows.size(); ++line) {
        const std::size_t end = text.find('\n', at) + 1;
        if (line > 0 && (line == 1 || what.gcds[line - 1].bdf != what.gcds[line - 2].bdf))
            grouped += board_line(what, what.gcds[line - 1]);
        grouped += text.substr(at, end - at);
        at = end;
    }
    return grouped;
}

/// What a person needs to know before the rows: how many GPUs each source sees, and whether they agree.
std::string counts_line(const source_counts& counts) {
    return fmt::format("GPUs: {} on PCI, {} in KFD, {} in SMI\n", text_or_unknown(counts.pci),
                       text_or_unknown(counts.kfd), text_or_unknown(counts.smi));
}

std::string finding_lines(const node& what) {
    std::string text;
    for (const auto& f : what.findings)
        text += fmt::format("{}: {}{}: {}\n", text_of(f.level), f.bdf ? f.bdf->text() + ": " : "", printable(f.check),
                            printable(f.text));
    return text;
}

std::string versions_line(const node& what) {
    std::string text;
    for (const auto& [component, version] : what.versions)
        text += (text.empty() ? "Versions: " : ", ") + printable(component) + " " + printable(version);
    return text.empty() ? text : text + "\n";
}

/// "4x 200" for four xGMI links with 200 GB/s together, "pcie 32"; "-" without a direct link.
std::string link_cell(const node& what, uint32_t from, uint32_t to) {
    if (from == to)
        return ".";
    const link* l = find_link(what, from, to);
    if (l == nullptr)
        return unknown;
    const std::string kind = l->type != "xgmi" ? printable(l->type) : l->links ? fmt::format("{}x", *l->links) : "xgmi";
    return l->gb_per_s ? fmt::format("{} {:g}", kind, *l->gb_per_s) : kind;
}

std::string gcd_matrix(const node& what) {
    std::vector<std::vector<std::string>> rows = {{"from", "PCI address"}};
    for (const auto& g : what.gcds)
        rows[0].push_back(fmt::format("to {}", g.index));
    for (const auto& from : what.gcds) {
        std::vector<std::string> row = {std::to_string(from.index), from.id().text()};
        for (const auto& to : what.gcds)
            row.push_back(link_cell(what, from.index, to.index));
        rows.push_back(std::move(row));
    }
    return table(rows, "rl" + std::string(what.gcds.size(), 'r')) +
           "\nNx G: N xGMI links, together G GB/s in one direction at their peak; -: no direct link\n";
}

/// The GCDs of a node that belong together: a package where that is known, else one PCI function.
std::vector<std::vector<uint32_t>> boards_of(const node& what) {
    std::vector<std::vector<uint32_t>> boards;
    for (const auto& g : what.gcds) {
        const auto together = [&](const std::vector<uint32_t>& board) {
            const gcd& first = what.gcds[board.front()];
            return g.bdf == first.bdf || (g.package && g.package == first.package);
        };
        const auto board = std::find_if(boards.begin(), boards.end(), together);
        if (board == boards.end())
            boards.push_back({g.index});
        else
            board->push_back(g.index);
    }
    return boards;
}

/// What joins two boards, or the GCDs of one: "4x 200" when all pairs have that, "2-4 kinds" when they differ, with how
/// many of the pairs have a link.
std::string board_cell(const node& what, const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) {
    std::vector<std::string> cells;
    for (const auto a : from)
        for (const auto b : to)
            if (a != b)
                cells.push_back(link_cell(what, a, b));
    if (cells.empty())
        return ".";
    const auto linked = std::count_if(cells.begin(), cells.end(), [](const std::string& c) { return c != unknown; });
    if (linked == 0)
        return unknown;
    std::sort(cells.begin(), cells.end());
    std::erase(cells, unknown);
    cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
    const auto pairs = from == to ? from.size() * (from.size() - 1) : from.size() * to.size();
    const std::string kind = cells.size() == 1 ? cells.front() : "mixed";
    return static_cast<std::size_t>(linked) == pairs ? kind : fmt::format("{} ({}/{})", kind, linked, pairs);
}

std::string board_matrix(const node& what) {
    const auto boards = boards_of(what);
    std::vector<std::vector<std::string>> rows = {{"board", "GCDs", "PCI address"}};
    for (std::size_t i = 0; i < boards.size(); ++i)
        rows[0].push_back(fmt::format("to {}", i));
    for (std::size_t i = 0; i < boards.size(); ++i) {
        std::vector<std::string> row = {std::to_string(i), ranges_text(boards[i]),
                                        what.gcds[boards[i].front()].bdf.text()};
        for (const auto& to : boards)
            row.push_back(board_cell(what, boards[i], to));
        rows.push_back(std::move(row));
    }
    return table(rows, "rll" + std::string(boards.size(), 'r')) +
           "\nNx G: a pair of their GCDs has N xGMI links, together G GB/s in one direction at their peak; (a/b): only "
           "a\n"
           "of b pairs have a direct link; -: none has. --json lists every pair.\n";
}

std::string in_words(const std::string& name, const nlohmann::ordered_json& value) {
    if (name == "cores" && value.is_array())
        return ranges_text(value.get<std::vector<uint32_t>>());
    return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

} // namespace

std::string node_overview(const node& what) {
    std::string text = "Node " + printable(what.name) + "\n\n";
    text += what.gcds.empty() ? "No AMD GPU on this node.\n" : gcd_table(what);
    text += "\n" + counts_line(what.sources) + versions_line(what);
    return what.findings.empty() ? text : text + "\n" + finding_lines(what);
}

std::string node_topology(const node& what) {
    std::string text = "Node " + printable(what.name) + "\n\n";
    if (what.gcds.empty())
        return text + "No AMD GPU on this node.\n";
    text += what.gcds.size() <= most_in_matrix ? gcd_matrix(what) : board_matrix(what);
    return what.findings.empty() ? text : text + "\n" + finding_lines(what);
}

std::string node_explanation(const node& what) {
    std::string text;
    const auto object = json_of(what, true);
    for (const auto& entry : object["gcds"]) {
        std::vector<std::vector<std::string>> rows;
        for (const auto& [name, source] : entry["sources"].items())
            if (entry.contains(name)) // another version may know sources of facts that this one does not know
                rows.push_back({"  " + printable(name), in_words(name, entry[name]), printable(source)});
        const auto& die = what.gcds[entry["gcd"]];
        text += fmt::format("\nGCD {} {}\n", die.index, die.id().text()) + table(rows, "lll");
    }
    return text;
}

} // namespace amd_gpu
