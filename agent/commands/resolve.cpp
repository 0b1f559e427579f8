// amd-gpu-agent resolve: which variant of an environment this node, or GPUs named on the command line, would get, why
// not the others, and what it changes in a job's variables. It changes nothing.
#include "commands/commands.hpp"
#include "commands/wanted_environment.hpp"
#include "commands/wanted_targets.hpp"

#include "configuration/settings.hpp"
#include "environment/provider.hpp"
#include "system/files.hpp"
#include "target/match.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr auto longest_asking = std::chrono::seconds(60); // a server of images that many nodes ask, or a provider

struct resolve_arguments {
    std::string environment;
    std::string targets;
    bool as_json = false;
};

/// The edits, as far as they are known before a job asks: an image that has yet to be fetched has no directories to
/// look at, and the record of a user's own variant holds them all.
result<std::vector<edit>> edits_of(const variant& chosen, const environment& definition) {
    if (chosen.kept != storage::blob && !is_digest_name(definition.name))
        return activation_edits(chosen, definition);
    auto edits = chosen.edits;
    edits.insert(edits.end(), definition.edits.begin(), definition.edits.end());
    return edits;
}

std::string place_text(const variant& chosen) {
    if (chosen.kept != storage::blob)
        return "path " + chosen.path;
    return fmt::format("image sha256:{}, {:.1f} MB, fetched and mounted when a job asks for it", chosen.blob,
                       static_cast<double>(chosen.blob_bytes) / 1e6);
}

void print_text(const resolution& choice, const environment& definition, const std::vector<edit>& edits) {
    if (!definition.description.empty())
        fmt::print("{}: {}\n", definition.name, definition.description);
    fmt::print("{}\n{}\n", choice.explanation, place_text(choice.chosen));
    for (const edit& change : edits)
        fmt::print("{}\n", change.text());
}

void print_json(const resolution& choice, const std::vector<edit>& edits) {
    json document{{"environment", choice.chosen.environment},
                  {"provider", choice.chosen.provider},
                  {"path", nullptr},
                  {"blob", nullptr},
                  {"targets", json::array()},
                  {"fit", name_of(choice.how)},
                  {"rejected", choice.rejected},
                  {"explanation", choice.explanation},
                  {"edits", json::array()}};
    if (choice.chosen.kept == storage::blob)
        document["blob"] = choice.chosen.blob;
    else
        document["path"] = choice.chosen.path;
    for (const target_id& target : choice.chosen.targets)
        document["targets"].push_back(target.text());
    for (const edit& change : edits) {
        json one{{"kind", text_of(change.what)}, {"name", change.name}, {"value", change.value}};
        if (change.what == edit::kind::unset)
            one["value"] = nullptr;
        document["edits"].push_back(std::move(one));
    }
    fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

int run_resolve(const resolve_arguments& arguments, const std::string& configuration) {
    const result<settings> site = load_settings(configuration);
    if (!site)
        return report(site.failure());
    const std::string& name = arguments.environment.empty() ? site->default_environment : arguments.environment;
    if (name.empty())
        return report({error_code::usage, "name an environment: the site has set no default"});
    const auto devices = arguments.targets.empty() ? targets_here(*site) : named_targets(arguments.targets);
    if (!devices)
        return report(devices.failure());

    const result<environment> definition = wanted_environment(*site, name, {});
    if (!definition)
        return report(definition.failure());
    const auto variants = wanted_variants(*site, *definition, deadline::in(longest_asking));
    if (!variants)
        return report(variants.failure());
    const result<resolution> choice = resolve(*definition, *variants, *devices);
    if (!choice) {
        // A file of one's own is called what it was called on the command line, not by its digest.
        report({choice.failure().code, replaced(choice.failure().what, definition->name, name)});
        return exit_negative;
    }
    result<std::vector<edit>> edits = edits_of(choice->chosen, *definition);
    if (!edits)
        return report(edits.failure());
    for (edit& change : build_target_edits(*devices))
        edits->push_back(std::move(change));
    if (arguments.as_json)
        print_json(*choice, *edits);
    else
        print_text(*choice, *definition, *edits);
    return exit_ok;
}

} // namespace

void add_resolve(CLI::App& app, command_context& context) {
    auto arguments = std::make_shared<resolve_arguments>();
    CLI::App* command = app.add_subcommand("resolve", "Which variant of an environment would be used, and why");
    command->add_option("ENV", arguments->environment,
                        "Environment, or (with a slash) a manifest file; without it the site's default");
    command->add_option("--targets", arguments->targets, "Targets to resolve for, instead of this node's: T[,T...]");
    command->add_flag("--json", arguments->as_json, "Print JSON");
    command->callback([arguments, &context] { context.exit_status = run_resolve(*arguments, context.configuration); });
}

} // namespace amd_gpu
