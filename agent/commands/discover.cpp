// `amd-gpu-agent discover`: what GPUs are here, for people and for programs. It prints what discovery found and judges
// nothing; a node without GPUs and one with faults are both answers.
#include "discovery/discover.hpp"

#include "commands/commands.hpp"
#include "commands/node_text.hpp"
#include "node/json.hpp"
#include "placement/cpu_core.hpp"
#include "placement/map_text.hpp"
#include "service/client.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace amd_gpu {
namespace {

constexpr int most_ranks = 1024;

struct choices {
    bool json = false;
    bool topology = false;
    bool explain = false;
    bool agent = false;
    uint32_t ranks = 0;
};

/// How so many ranks would be placed if a job had all GPUs and CPUs of the node.
std::string map_of(const node& what, const settings& site, uint32_t ranks) {
    placement_facts facts;
    facts.ranks = ranks;
    facts.core_of = core_of;
    std::vector<gcd_label> labels;
    for (const auto& die : what.gcds) {
        if (!die.bound)
            continue;
        labels.push_back({die.index, die.id().text(), die.numa});
        facts.closest.push_back(without(die.cores, site.reserved_cores));
        facts.usable.insert(facts.usable.end(), facts.closest.back().begin(), facts.closest.back().end());
    }
    std::sort(facts.usable.begin(), facts.usable.end());
    std::string text;
    for (const auto& line : map_lines(what.name, place_ranks(facts), labels, {}))
        text += line + "\n";
    return text;
}

/// What the daemon found: it looks again only when the node has changed.
result<node> ask_agent(const settings& site) {
    const auto reply = ask(site.socket, message("discover"), deadline::in(site.discovery_deadline));
    if (!reply)
        return reply.failure().within("the agent does not answer");
    if (reply->text("kind") != "discover")
        return error{error_code::peer, fmt::format("the agent cannot tell: {}", reply->text("message"))};
    auto found = node_from_json(reply->text("json"));
    return found ? found : found.failure().within("the agent's answer is not understood");
}

std::string text_for_people(const node& what, const settings& site, const choices& asked) {
    if (asked.ranks > 0)
        return map_of(what, site, asked.ranks);
    std::string text = asked.topology ? node_topology(what) : node_overview(what);
    return asked.explain ? text + node_explanation(what) : text;
}

int discover_command(const command_context& context, const choices& asked) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto found = asked.agent ? ask_agent(*site) : discover(*site, deadline::in(site->discovery_deadline));
    if (!found)
        return report(found.failure());

    const std::string text = asked.json ? json_text(*found, asked.explain) : text_for_people(*found, *site, asked);
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
    command->add_option("--ranks", asked->ranks, "Show where so many ranks of a job with all GPUs would run")
        ->check(CLI::Range(1, most_ranks))
        ->excludes("--json")
        ->excludes("--topology")
        ->excludes("--explain");
    command->add_flag("--agent", asked->agent, "Show what the running daemon knows (root), instead of looking again");
    command->callback([asked, &context] { context.exit_status = discover_command(context, *asked); });
}

} // namespace amd_gpu
