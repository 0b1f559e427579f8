// `amd-gpu-agent read-index`: the child that reads a user's own index as this user. Not for people, hence hidden from
// the help.
#include "commands/commands.hpp"
#include "environment/variant_index.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace amd_gpu {

namespace {

int run_read_index(const std::string& directory, const std::string& environment) {
    const auto entries = read_index(directory, environment, ::geteuid());
    if (!entries)
        return report(entries.failure());
    auto records = nlohmann::json::array();
    for (variant_candidate& one : candidates_of(*entries)) {
        if (!place_problem(one.found).empty())
            continue;
        // Which edits a variant needs is seen in its own directories, where root has no business either.
        auto edits = activation_edits(one.found, amd_gpu::environment{});
        if (!edits)
            return report(edits.failure());
        one.found.edits = std::move(*edits);
        one.found.suggests_edits = false;
        records.push_back(to_record(one.found));
    }
    fmt::print("{}\n", records.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return exit_ok;
}

} // namespace

void add_read_index(CLI::App& app, command_context& context) {
    const auto words = std::make_shared<std::pair<std::string, std::string>>();
    CLI::App* command = app.add_subcommand("read-index", "Read a user's index (used by serve)")->group("");
    command->add_option("DIRECTORY", words->first, "The index")->required();
    command->add_option("ENV", words->second, "The environment")->required();
    command->callback([words, &context] { context.exit_status = run_read_index(words->first, words->second); });
}

} // namespace amd_gpu
