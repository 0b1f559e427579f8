// `amd-gpu-agent discover`: what GPUs are here, for people and for programs. It prints what discovery found and judges
// nothing; a node without GPUs and one with faults are both answers.
#include "discovery/discover.hpp"

#include "commands/commands.hpp"
#include "commands/table.hpp"
#include "node/json.hpp"
#include "ranges.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

constexpr const char* unknown = "?";

struct choices {
    bool json = false;
    bool topology = false;
    bool explain = false;
};

template<typename T>
std::string text_or_unknown(const std::optional<T>& fact) {
    return fact ? fmt::format("{}", *fact) : unknown;
}

std::string in_gib(const std::optional<uint64_t>& bytes) {
    return bytes ? fmt::format("{:.0f} GiB", static_cast<double>(*bytes) / (1ULL << 30)) : unknown;
}

std::string heading(const node& what) {
    std::string text = "Node " + what.name;
    for (const auto& [component, version] : what.versions)
        text += ", " + component + " " + version;
    text += fmt::format("\nGPUs: {} on PCI, {} in KFD, {} in SMI\n", text_or_unknown(what.sources.pci),
                        text_or_unknown(what.sources.kfd), text_or_unknown(what.sources.smi));
    return text;
}

std::string gcd_table(const node& what) {
    std::vector<std::vector<std::string>> rows = {{"GCD", "PCI address", "target", "memory", "CUs", "package", "NUMA",
                                                   "closest cores", "render", "SMI", "unique id"}};
    for (const auto& g : what.gcds) {
        rows.push_back({std::to_string(g.index), g.bdf.text() + (g.partition ? fmt::format("/{}", *g.partition) : ""),
                        g.target  ? g.target->text()
                        : g.bound ? unknown
                                  : "not bound",
                        in_gib(g.memory_bytes), text_or_unknown(g.compute_units), text_or_unknown(g.package),
                        text_or_unknown(g.numa), g.cores.empty() ? unknown : ranges_text(g.cores),
                        g.render_minor ? fmt::format("D{}", *g.render_minor) : unknown, text_or_unknown(g.smi_index),
                        g.unique_id ? fmt::format("0x{:016x}", *g.unique_id) : unknown});
    }
    return table(rows, "rllrrrrllrl");
}

std::string finding_lines(const node& what) {
    std::string text;
    for (const auto& f : what.findings)
        text += fmt::format("{}: {}: {}\n", text_of(f.level), f.check, f.text);
    return text;
}

/// "4x 200" for four xGMI links with 200 GB/s together, "pcie 32"; "-" without a direct link.
std::string link_cell(const node& what, uint32_t from, uint32_t to) {
    if (from == to)
        return ".";
    const link* l = find_link(what, from, to);
    if (l == nullptr)
        return "-";
    const std::string kind = l->type != "xgmi" ? l->type : l->links ? fmt::format("{}x", *l->links) : "xgmi";
    return l->gb_per_s ? fmt::format("{} {:g}", kind, *l->gb_per_s) : kind;
}

std::string link_matrix(const node& what) {
    std::vector<std::vector<std::string>> rows = {{"from", "PCI address"}};
    for (const auto& g : what.gcds)
        rows[0].push_back(fmt::format("to {}", g.index));
    for (const auto& from : what.gcds) {
        std::vector<std::string> row = {std::to_string(from.index), from.bdf.text()};
        for (const auto& to : what.gcds)
            row.push_back(link_cell(what, from.index, to.index));
        rows.push_back(std::move(row));
    }
    return table(rows, "rl" + std::string(what.gcds.size(), 'r')) +
           "\nNx G: N xGMI links, together G GB/s in one direction at their peak; -: no direct link\n";
}

/// Every fact of every GCD with its source, as one line each.
std::string explanation(const node& what) {
    std::string text;
    const auto object = json_of(what, true);
    for (const auto& entry : object["gcds"]) {
        std::vector<std::vector<std::string>> rows;
        for (const auto& [name, source] : entry["sources"].items()) {
            const auto& value = entry[name];
            rows.push_back({"  " + name,
                            name == "cores"     ? ranges_text(value.get<std::vector<uint32_t>>())
                            : value.is_string() ? value.get<std::string>()
                                                : value.dump(),
                            source.get<std::string>()});
        }
        text += fmt::format("\nGCD {} {}\n", entry["gcd"].dump(), entry["bdf"].get<std::string>()) + table(rows, "lll");
    }
    return text;
}

std::string text_for_people(const node& what, const choices& asked) {
    std::string text = heading(what) + "\n";
    if (what.gcds.empty()) {
        text += "No AMD GPU on this node.\n";
    } else {
        text += asked.topology ? link_matrix(what) : gcd_table(what);
    }
    if (asked.explain)
        text += explanation(what);
    if (!what.findings.empty())
        text += "\n" + finding_lines(what);
    return text;
}

int discover_command(const command_context& context, const choices& asked) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto found = discover(*site, deadline::in(site->discovery_deadline));
    if (!found)
        return report(found.failure());

    const std::string text = asked.json ? json_text(*found, asked.explain) : text_for_people(*found, asked);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    return written ? exit_ok : report({error_code::internal, "cannot write to standard output"});
}

} // namespace

void add_discover(CLI::App& app, command_context& context) {
    const auto asked = std::make_shared<choices>();
    auto* command = app.add_subcommand("discover", "Show the GPUs of this node");
    command->add_flag("--json", asked->json, "Print one JSON object");
    command->add_flag("--topology", asked->topology, "Show the links between GCDs as a matrix");
    command->add_flag("--explain", asked->explain, "Show where each fact comes from");
    command->callback([asked, &context] { context.exit_status = discover_command(context, *asked); });
}

} // namespace amd_gpu
