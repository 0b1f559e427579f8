// `amd-gpu-agent discover`: what GPUs are here, for people and for programs. It prints what discovery found and judges
// nothing; a node without GPUs and one with faults are both answers.
#include "discovery/discover.hpp"

#include "commands/commands.hpp"
#include "commands/node_text.hpp"
#include "node/json.hpp"
#include "service/client.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace amd_gpu {
namespace {

struct choices {
    bool json = false;
    bool topology = false;
    bool explain = false;
    bool agent = false;
};

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

std::string text_for_people(const node& what, const choices& asked) {
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
    command->add_flag("--agent", asked->agent, "Show what the running daemon knows (root), instead of looking again");
    command->callback([asked, &context] { context.exit_status = discover_command(context, *asked); });
}

} // namespace amd_gpu
