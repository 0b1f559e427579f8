// amd-gpu-agent prepare, release: what the plugin asks for, by hand.

#include "commands/commands.hpp"

#include "configuration/settings.hpp"
#include "ranges.hpp"
#include "service/client.hpp"
#include "service/exchange.hpp"
#include "spank/asking.hpp"
#include "system/files.hpp"
#include "system/host.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

namespace amd_gpu {
namespace {

struct wish {
    uint32_t job = 0;
    std::string option = "auto";
    std::string gpus;
    std::string node;
    double seconds = 60;
};

int prepare_here(const command_context& context, const wish& given) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto option = parse_request(given.option);
    if (!option)
        return report(option.failure());
    preparation_request request = request_for(*option);
    request.job = given.job;
    request.by_hand = true;
    request.step = 0; // a step and not a prolog: it gets what the job was given before, when there is such a job
    request.node = given.node.empty() ? host_name() : given.node;
    if (request.node.empty())
        request.node = "localhost";
    request.limit_ms = static_cast<uint32_t>(given.seconds * 1000);
    if (!given.gpus.empty()) {
        request.gpus = parse_ranges(given.gpus);
        if (!request.gpus)
            return report({error_code::usage, "--gpus takes indices such as 0-3,6"});
    }
    const auto answered =
        ask(site->socket, to_message(request), deadline::in(std::chrono::milliseconds(request.limit_ms)),
            [](std::string_view text) { fmt::print(stderr, "amd-gpu-agent: {} ...\n", text); });
    if (!answered)
        return report(answered.failure().within("the agent does not answer"));
    if (answered->text("kind") != "prepared")
        return report({error_code::permission, std::string(answered->text("message"))});
    const auto reply = to_reply(*answered);
    if (!reply)
        return report(reply.failure());
    for (const auto& line : reply->report)
        fmt::print("{}\n", line);
    for (const auto& change : reply->edits)
        fmt::print("edit: {}\n", change.text());
    fmt::print("{}{}{}\n", text_of(reply->how), reply->message.empty() ? "" : ": ", reply->message);
    return reply->how == outcome::ready ? exit_ok : exit_negative;
}

int release_here(const command_context& context, uint32_t job) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    message asked("release");
    asked.add("job", std::to_string(job));
    const auto reply = ask(site->socket, asked, deadline::in(std::chrono::seconds(5)));
    if (!reply)
        return report(reply.failure().within("the agent does not answer"));
    if (reply->text("kind") != "released")
        return report({error_code::permission, std::string(reply->text("message"))});
    return exit_ok;
}

} // namespace

void add_prepare(CLI::App& app, command_context& context) {
    const auto given = std::make_shared<wish>();
    auto* prepare_command = app.add_subcommand("prepare", "prepare GPUs of this node as for a job, by hand (root)");
    prepare_command->add_option("--job", given->job, "job id to remember it under")->required();
    prepare_command->add_option("--amd-gpu", given->option, "the option as srun takes it")->capture_default_str();
    prepare_command->add_option("--gpus", given->gpus, "GPU indices in the order of Slurm's gres files, such as 0-7");
    prepare_command->add_option("--node", given->node, "Slurm's name of this node");
    prepare_command->add_option("--deadline", given->seconds, "seconds to wait")->check(CLI::Range(0.1, 3600.0));
    prepare_command->callback([&context, given] { context.exit_status = prepare_here(context, *given); });

    auto* release_command = app.add_subcommand("release", "forget the preparation of a job (root)");
    release_command->add_option("--job", given->job, "job id")->required();
    release_command->callback([&context, given] { context.exit_status = release_here(context, given->job); });
}

} // namespace amd_gpu
