// amd-gpu-agent status: what the daemon is doing.

#include "commands/commands.hpp"

#include "configuration/settings.hpp"
#include "service/client.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

using nlohmann::json;

void print_for_people(const json& state) {
    const auto& counters = state["counters"];
    fmt::print("amd-gpu-agent {}: {} jobs; {} discoveries, {} activations, {} probe children since it started\n",
               state["version"].get<std::string>(), state["jobs"].size(), counters["discoveries"].get<unsigned>(),
               counters["activations"].get<unsigned>(), counters["probe_children"].get<unsigned>());
    for (const auto& job : state["jobs"]) {
        const auto message = job["message"].get<std::string>();
        fmt::print("  job {} (uid {}): {} on {} GCDs{}{}\n", job["job"].get<unsigned>(), job["uid"].get<unsigned>(),
                   job["outcome"].get<std::string>(), job["bdfs"].size(), message.empty() ? "" : ": ", message);
    }
    for (const auto& child : state["abandoned_children"])
        fmt::print("  a child survives SIGKILL: {}\n", child.get<std::string>());
}

int show_status(const command_context& context, bool as_json) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto reply = ask(site->socket, message("status"), deadline::in(std::chrono::seconds(5)));
    if (!reply)
        return report(reply.failure().within("the agent does not answer"));
    if (reply->text("kind") != "status")
        return report({error_code::permission, std::string(reply->text("message"))});
    const auto state = json::parse(reply->text("json"), nullptr, false);
    if (state.is_discarded())
        return report({error_code::peer, "the agent's answer is not understood"});
    if (as_json)
        fmt::print("{}\n", state.dump(2));
    else
        print_for_people(state);
    return exit_ok;
}

} // namespace

void add_status(CLI::App& app, command_context& context) {
    auto* status_command = app.add_subcommand("status", "show what the daemon is doing (root)");
    const auto as_json = std::make_shared<bool>(false);
    status_command->add_flag("--json", *as_json, "for machines");
    status_command->callback([&context, as_json] { context.exit_status = show_status(context, *as_json); });
}

} // namespace amd_gpu
