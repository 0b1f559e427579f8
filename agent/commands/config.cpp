// amd-gpu-agent config: checks the site's files, or shows the settings that apply. It changes nothing.
#include "commands/commands.hpp"

#include "configuration/settings.hpp"
#include "environment/catalogue.hpp"
#include "probing/floors.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

/// Prints what is wrong, one "FILE:LINE: ..." a line as compilers do, so that editors can jump there.
void complain(int& exit_status, const std::string& what) {
    fmt::print(stderr, "{}\n", what);
    exit_status = exit_configuration;
}

void check_environments(const settings& site, const std::string& configuration, int& exit_status) {
    const result<std::vector<std::string>> files = environment_files(site.environments_directory);
    if (!files)
        return complain(exit_status, files.failure().what);
    bool default_seen = site.default_environment.empty();
    for (const std::string& file : *files) {
        const result<environment> one = load_environment(file);
        if (one)
            fmt::print("{}: ok\n", file);
        else
            complain(exit_status, one.failure().what);
        default_seen = default_seen || file.ends_with("/" + site.default_environment + ".toml");
    }
    if (!default_seen)
        complain(exit_status,
                 fmt::format("{}: environment.default is \"{}\", but there is no {}/{}.toml", configuration,
                             site.default_environment, site.environments_directory, site.default_environment));
}

int check(const std::string& configuration) {
    int exit_status = exit_ok;
    const result<settings> site = load_settings(configuration);
    if (!site) { // which directory of environments is meant is in there
        complain(exit_status, site.failure().what);
        return exit_status;
    }
    const bool exists = ::access(configuration.c_str(), F_OK) == 0;
    fmt::print("{}: {}\n", configuration, exists ? "ok" : "not there, the defaults apply");
    check_environments(*site, configuration, exit_status);
    if (const auto floors = load_floors(site->floors_directory); floors)
        fmt::print("{}: {} floors, ok\n", site->floors_directory, floors->size());
    else
        complain(exit_status, floors.failure().what);
    return exit_status;
}

int show(const std::string& configuration) {
    const result<settings> site = load_settings(configuration);
    if (!site)
        return report(site.failure());
    std::string_view table;
    for (const setting_key& key : setting_keys()) {
        if (key.table != table)
            fmt::print("{}[{}]\n", table.empty() ? "" : "\n", key.table);
        table = key.table;
        const std::string text = key.text(*site);
        if (text.empty())
            fmt::print("# {} is not set\n", key.name);
        else
            fmt::print("{} = {}{}\n", key.name, text, text == key.initial ? " # default" : "");
    }
    return exit_ok;
}

} // namespace

void add_config(CLI::App& app, command_context& context) {
    CLI::App* command = app.add_subcommand("config", "Check the configuration, or show it");
    command->require_subcommand(1);
    command->add_subcommand("check", "Read every configuration file and say all that is wrong")->callback([&context] {
        context.exit_status = check(context.configuration);
    });
    command->add_subcommand("show", "Print the settings that apply, as a configuration file")->callback([&context] {
        context.exit_status = show(context.configuration);
    });
}

} // namespace amd_gpu
