// amd-gpu-agent variants: the index of what has been realised: what is in it, whether it is still there, and removing
// what newer variants have replaced.
#include "commands/commands.hpp"

#include "configuration/settings.hpp"
#include "environment/command_provider.hpp"
#include "environment/library_check.hpp"
#include "environment/prune.hpp"
#include "environment/variant_index.hpp"
#include "table.hpp"
#include "target/spelling.hpp"

#include <CLI/CLI.hpp>
#include <cmath>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace amd_gpu {

namespace {

using nlohmann::json;

struct variants_arguments {
    std::string environment;
    std::string index;
    bool as_json = false;
    bool libraries = false;
    double older_than_days = 30;
    bool dry_run = false;
};

/// "ok", "superseded", or why no job can be given it.
std::string state_of(const index_entry& entry) {
    if (!entry.problem.empty())
        return entry.problem;
    const std::string gone = place_problem(entry.record);
    if (!gone.empty())
        return gone;
    return entry.superseded ? "superseded" : "ok";
}

std::string targets_of(const variant& record) {
    std::vector<std::string> texts;
    for (const target_id& target : record.targets)
        texts.push_back(target.text());
    return fmt::format("{}", fmt::join(texts, ","));
}

std::string place_of(const variant& record) {
    return record.kept == storage::blob ? "sha256:" + record.blob : record.path;
}

std::string day_of(int64_t seconds) {
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

int list(const std::vector<index_entry>& all, bool as_json) {
    if (as_json) {
        json document = json::array();
        for (const index_entry& one : all) {
            json row{{"file", one.file}, {"state", state_of(one)}, {"record", nullptr}};
            if (one.problem.empty())
                row["record"] = json::parse(to_record(one.record));
            document.push_back(std::move(row));
        }
        fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
        return exit_ok;
    }
    std::vector<std::vector<std::string>> rows{{"ENVIRONMENT", "TARGETS", "PROVIDER", "MADE", "STATE", "PLACE"}};
    for (const index_entry& one : all) {
        const variant& record = one.record;
        if (one.problem.empty())
            rows.push_back({record.environment, targets_of(record), record.provider, day_of(record.created),
                            state_of(one), place_of(record)});
        else
            rows.push_back({"?", "?", "?", "?", one.problem, one.file});
    }
    fmt::print("{}", table(rows, "llllll"));
    return exit_ok;
}

int show(const std::vector<index_entry>& all) {
    for (const index_entry& one : all)
        if (one.problem.empty())
            fmt::print("{}", to_record(one.record));
    return all.empty() ? exit_negative : exit_ok;
}

/// One line for each record that no job can be given; the exit status says whether there was one.
/// What the libraries of a variant lack for the targets that it was built for: worth knowing, since its record says
/// otherwise; but a job that never uses them runs well.
void print_library_findings(const variant& record, deadline until) {
    if (record.kept == storage::blob)
        return;
    const auto found = library_findings(record.path, record.targets, until);
    if (!found)
        fmt::print("{}: warning: {}\n", record.path, found.failure().what);
    else
        for (const std::string& text : *found)
            fmt::print("{}: warning: {}\n", record.path, printable(text));
}

int verify(const std::vector<index_entry>& all, bool libraries) {
    constexpr auto each = std::chrono::minutes(2);
    std::size_t bad = 0;
    for (const index_entry& one : all) {
        const std::string state = state_of(one);
        if (state == "ok" && libraries)
            print_library_findings(one.record, deadline::in(each));
        if (state == "ok" || state == "superseded")
            continue;
        ++bad;
        fmt::print("{}: {}\n", one.file, state);
    }
    fmt::print("{} of {} variants are good\n", all.size() - bad, all.size());
    return bad == 0 ? exit_ok : exit_negative;
}

/// Tells the programs that made variants that these are no longer used. One that fails is named, and no more: the
/// record is gone.
void release(const settings& site, const std::vector<variant>& released) {
    constexpr auto longest = std::chrono::minutes(10);
    const auto known = load_catalogue(site.environments_directory);
    for (const variant& one : released) {
        if (one.provider != "command")
            continue;
        const auto of = known ? find_environment(*known, one.environment) : known.failure();
        if (of && of->provider != "command")
            continue; // it was, once; whoever changed that knows what it left behind
        const status told = of ? release_command_variant(*of, one, deadline::in(longest)) : status(of.failure());
        if (!told)
            fmt::print(stderr, "amd-gpu-agent: {} stays: {}\n", one.path, told.failure().what);
    }
}

int run_prune(const settings& site, const std::string& index, const variants_arguments& arguments) {
    const auto age = std::chrono::seconds(std::llround(arguments.older_than_days * 86400));
    const auto pruned =
        prune_index(index, arguments.environment, ::geteuid(), age, std::time(nullptr), arguments.dry_run);
    if (!pruned)
        return report(pruned.failure());
    release(site, pruned->released);
    const std::string_view would = arguments.dry_run ? "would be " : "";
    for (const std::string& file : pruned->retired)
        fmt::print("{}retired: {} (no new job gets it; deleted after {} days)\n", would, file,
                   arguments.older_than_days);
    for (const std::string& file : pruned->deleted)
        fmt::print("{}deleted: {}\n", would, file);
    if (pruned->retired.empty() && pruned->deleted.empty())
        fmt::print("nothing to prune\n");
    return exit_ok;
}

int run_variants(const std::string& verb, const variants_arguments& arguments, const std::string& configuration) {
    const result<settings> site = load_settings(configuration);
    if (!site)
        return report(site.failure());
    result<std::string> index = arguments.index;
    if (arguments.index.empty())
        index = ::geteuid() == 0 ? result<std::string>(site->index) : user_index_of(*site, ::geteuid());
    if (!index)
        return report(index.failure());
    if (verb == "prune")
        return run_prune(*site, *index, arguments);
    const auto entries = read_index(*index, arguments.environment, ::geteuid());
    if (!entries)
        return report(entries.failure());
    if (verb == "show")
        return show(*entries);
    return verb == "verify" ? verify(*entries, arguments.libraries) : list(*entries, arguments.as_json);
}

} // namespace

void add_variants(CLI::App& app, command_context& context) {
    const auto arguments = std::make_shared<variants_arguments>();
    CLI::App* command = app.add_subcommand("variants", "What has been realised: list, show, verify, prune");
    command->require_subcommand(1);
    const std::pair<const char*, const char*> verbs[] = {
        {"list", "The variants in the index"},
        {"show", "Their records, as JSON"},
        {"verify", "Whether they are where their records say"},
        {"prune", "Retire superseded variants, and delete those that have been retired for long"}};
    for (const auto& [verb, meaning] : verbs) {
        CLI::App* one = command->add_subcommand(verb, meaning);
        one->add_option("ENV", arguments->environment, "Only of this environment");
        one->add_option("--index", arguments->index, "Another index than the site's, or for users, than one's own");
        if (verb == std::string_view("list"))
            one->add_flag("--json", arguments->as_json, "Print JSON");
        if (verb == std::string_view("verify"))
            one->add_flag("--libraries", arguments->libraries,
                          "Also whether their libraries hold code for the targets, and fit each other");
        if (verb == std::string_view("prune")) {
            one->add_option("--older-than", arguments->older_than_days,
                            "Days that a retired variant stays; more than the longest job takes")
                ->check(CLI::Range(0.0, 3650.0))
                ->capture_default_str();
            one->add_flag("--dry-run", arguments->dry_run, "Only say what would be done");
        }
        one->callback([arguments, &context, name = std::string(verb)] {
            context.exit_status = run_variants(name, *arguments, context.configuration);
        });
    }
}

} // namespace amd_gpu
