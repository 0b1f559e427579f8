// amd-gpu-agent libraries: for which GPUs the libraries of a directory really hold code, and whether they fit each
// other. Anybody may look at what they can read.
#include "commands/commands.hpp"
#include "commands/wanted_targets.hpp"

#include "configuration/settings.hpp"
#include "environment/library_check.hpp"
#include "table.hpp"
#include "target/spelling.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

struct libraries_arguments {
    std::string path;
    std::string targets;
    std::string program;
    bool as_json = false;
    double time_limit = 60;
};

std::vector<std::string> names_of(const code_part& part) {
    std::vector<std::string> names;
    for (const target_id& one : part.targets)
        names.push_back(one.text());
    names.insert(names.end(), part.unknown.begin(), part.unknown.end());
    if (part.portable)
        names.emplace_back("spirv");
    return names;
}

void print_json(const library_report& report, const std::string& path, const std::vector<target_id>& devices) {
    json document{{"path", path},
                  {"devices", json::array()},
                  {"looked_at", report.looked_at},
                  {"files", json::array()},
                  {"findings", json::array()}};
    for (const target_id& one : devices)
        document["devices"].push_back(one.text());
    for (const library_file& one : report.files)
        document["files"].push_back({{"file", one.name},
                                     {"parts", one.code.parts.size()},
                                     {"targets", names_of(one.code.all())},
                                     {"problems", one.code.problems}});
    for (const library_finding& one : report.findings)
        document["findings"].push_back({{"level", one.fault ? "fault" : "note"}, {"text", one.text}});
    fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
}

void print_text(const library_report& report) {
    std::vector<std::vector<std::string>> rows{{"FILE", "PARTS", "GPU CODE FOR"}};
    for (const library_file& one : report.files)
        if (!one.code.all().empty())
            rows.push_back({printable(one.name), std::to_string(one.code.parts.size()),
                            fmt::format("{}", fmt::join(names_of(one.code.all()), " "))});
    if (rows.size() > 1)
        fmt::print("{}\n", table(rows, "lrl"));
    for (const library_finding& one : report.findings)
        fmt::print("{}: {}\n", one.fault ? "fault" : "note", printable(one.text));
    fmt::print("{} files, {} with GPU code\n", report.looked_at, rows.size() - 1);
}

int run_libraries(const libraries_arguments& arguments, const std::string& configuration) {
    result<std::vector<target_id>> devices = std::vector<target_id>{};
    if (!arguments.targets.empty()) {
        devices = named_targets(arguments.targets);
    } else {
        const result<settings> site = load_settings(configuration);
        if (!site)
            return report(site.failure());
        devices = targets_here(*site);
        if (!devices && devices.failure().code == error_code::not_found)
            devices = std::vector<target_id>{}; // a node without GPUs: what is wrong anywhere
    }
    if (!devices)
        return report(devices.failure());
    const auto until = deadline::in(std::chrono::milliseconds(static_cast<int64_t>(arguments.time_limit * 1000)));
    const auto checked = check_libraries(arguments.path, arguments.program, *devices, until);
    if (!checked)
        return report(checked.failure());
    if (arguments.as_json)
        print_json(*checked, arguments.path, *devices);
    else
        print_text(*checked);
    for (const library_finding& one : checked->findings)
        if (one.fault)
            return exit_negative;
    return exit_ok;
}

} // namespace

void add_libraries(CLI::App& app, command_context& context) {
    const auto arguments = std::make_shared<libraries_arguments>();
    CLI::App* command = app.add_subcommand("libraries", "For which GPUs libraries hold code, and what is missing");
    command->add_option("PATH", arguments->path, "Directory with lib and bin, or one file")->required();
    command->add_option("--targets", arguments->targets, "Targets to check for, instead of this node's: T[,T...]");
    command->add_option("--program", arguments->program, "A program or library that is used with them");
    command->add_option("--time-limit", arguments->time_limit, "Seconds that it may take")
        ->check(CLI::Range(1.0, 3600.0))
        ->capture_default_str();
    command->add_flag("--json", arguments->as_json, "Print JSON");
    command->callback(
        [arguments, &context] { context.exit_status = run_libraries(*arguments, context.configuration); });
}

} // namespace amd_gpu
