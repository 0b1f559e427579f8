// amd-gpu-agent targets: lists the known targets, or checks target IDs and prints their canonical form. It reads
// nothing but its command line.
#include "commands/commands.hpp"
#include "target/target.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <vector>

namespace amd_gpu {
namespace {

using nlohmann::json;

struct targets_arguments {
    std::vector<std::string> ids;
    bool as_json = false;
};

std::vector<std::string_view> features_of(const processor& one) {
    std::vector<std::string_view> features;
    if (one.has_sramecc) {
        features.emplace_back("sramecc");
    }
    if (one.has_xnack) {
        features.emplace_back("xnack");
    }
    return features;
}

void print(const json& document) {
    // What people typed need not be UTF-8.
    fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

void list_as_json() {
    json all = json::array();
    for (const processor& one : known_processors()) {
        const auto covered = covered_by(one.name);
        all.push_back({{"name", one.name},
                       {"canonical", one.canonical},
                       {"features", features_of(one)},
                       {"generic", one.generic},
                       {"covers", std::vector<std::string_view>(covered.begin(), covered.end())}});
    }
    print(all);
}

void list_as_text() {
    fmt::print("{:<16} {:<14} {}\n", "TARGET", "FEATURES", "NOTES");
    for (const processor& one : known_processors()) {
        std::string notes;
        if (one.name != one.canonical) {
            notes = fmt::format("old name of {}", one.canonical);
        } else if (one.generic) {
            notes = fmt::format("generic: runs on {}", fmt::join(covered_by(one.name), " "));
        }
        const std::string features = fmt::format("{}", fmt::join(features_of(one), " "));
        std::string line = fmt::format("{:<16} {:<14} {}", one.name, features, notes);
        line.erase(line.find_last_not_of(' ') + 1);
        fmt::print("{}\n", line);
    }
}

// Gives the exit status to leave.
int check(const targets_arguments& arguments) {
    int left = exit_ok;
    json all = json::array();
    for (const std::string& id : arguments.ids) {
        const auto target = parse_target(id);
        if (!target) {
            left = exit_usage;
        }
        if (arguments.as_json) {
            all.push_back({{"id", id},
                           {"target", target ? json(target->text()) : json()},
                           {"error", target ? json() : json(target.failure().what)}});
        } else if (target) {
            fmt::print("{}\n", target->text());
        } else {
            left = report(target.failure());
        }
    }
    if (arguments.as_json) {
        print(all);
    }
    return left;
}

} // namespace

void add_targets(CLI::App& app, command_context& context) {
    auto arguments = std::make_shared<targets_arguments>();
    CLI::App* command = app.add_subcommand("targets", "List the known targets, or check target IDs");
    command->add_option("ID", arguments->ids, "Target IDs to check and to print in canonical form");
    command->add_flag("--json", arguments->as_json, "Print JSON");
    command->callback([arguments, &context] {
        if (!arguments->ids.empty()) {
            context.exit_status = check(*arguments);
        } else if (arguments->as_json) {
            list_as_json();
        } else {
            list_as_text();
        }
    });
}

} // namespace amd_gpu
