// amd-gpu-agent realise: makes a variant of an environment exist, on a head or service node, and writes its record into
// the index: the site's for root, one's own for everybody else.
#include "commands/commands.hpp"
#include "commands/wanted_environment.hpp"
#include "commands/wanted_targets.hpp"

#include "configuration/settings.hpp"
#include "environment/provider.hpp"
#include "environment/prune.hpp"
#include "environment/variant_index.hpp"
#include "system/file_lock.hpp"
#include "system/files.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

namespace amd_gpu {

namespace {

using nlohmann::json;

struct realise_arguments {
    std::string environment;
    std::string targets;
    std::string channels;
    std::string index;
    bool default_targets = false;
    bool plan_only = false;
    bool as_json = false;
    double time_limit = 12 * 3600;
};

constexpr mode_t directory_mode = 0755;

/// The targets in canonical form: order and duplicates would make another variant of the same software.
result<std::vector<target_id>> canonical_targets(const std::string& list) {
    const auto named = named_targets(list);
    if (!named)
        return named.failure();
    const std::set<target_id> targets(named->begin(), named->end());
    return std::vector<target_id>(targets.begin(), targets.end());
}

/// Only one process makes the same variant at a time; the others wait and find it made.
result<file_lock> flight(const std::string& index, const std::string& name, deadline until, const progress& say) {
    const std::string directory = index + "/flights";
    if (const status made = make_directories(directory, directory_mode); !made)
        return made.failure();
    const std::string file = directory + "/" + name + ".lock";
    auto lock = file_lock::take(file, file_lock::kind::alone, deadline::in({}));
    if (lock || lock.failure().code != error_code::timed_out)
        return lock;
    say("another process is making this variant; waiting for it");
    auto turn = file_lock::take(file, file_lock::kind::alone, until);
    if (!turn && turn.failure().code == error_code::timed_out)
        return error{error_code::timed_out, "another process is still making this variant"};
    return turn;
}

void print_plan(const realise_plan& plan, bool as_json) {
    if (as_json) {
        json document{{"need", name_of(plan.what)},
                      {"fetches", plan.fetches},
                      {"builds", plan.builds},
                      {"fetch_bytes", nullptr},
                      {"lines", plan.lines}};
        if (plan.fetch_bytes)
            document["fetch_bytes"] = *plan.fetch_bytes;
        fmt::print("{}\n", document.dump(2, ' ', false, json::error_handler_t::replace));
        return;
    }
    fmt::print("{}: {} to download{}, {} to build\n", name_of(plan.what), plan.fetches,
               plan.fetch_bytes ? fmt::format(" ({:.1f} MB)", static_cast<double>(*plan.fetch_bytes) / 1e6) : "",
               plan.builds);
    for (const std::string& line : plan.lines)
        fmt::print("  {}\n", line);
}

/// A record of the same software for the same targets that is still where it says.
const index_entry* made_already(const std::vector<index_entry>& entries, const std::string& digest,
                                const std::vector<target_id>& targets, bool substitutable) {
    for (const index_entry& one : entries)
        if (one.problem.empty() && one.record.digest == digest && one.record.substitutable == substitutable &&
            (substitutable || one.record.targets == targets) && place_problem(one.record).empty())
            return &one;
    return nullptr;
}

int realise(const settings& site, const environment& of, const std::string& index, realise_arguments arguments) {
    const progress say = [&](const std::string& line) {
        if (!arguments.as_json)
            fmt::print(stderr, "{}\n", line);
    };
    const auto until = deadline::in(std::chrono::milliseconds(static_cast<int64_t>(arguments.time_limit * 1000)));
    const auto targets = arguments.default_targets ? std::vector<target_id>{} : canonical_targets(arguments.targets);
    if (!targets)
        return report(targets.failure());
    const auto made = make_realiser(site, of);
    if (!made)
        return report(made.failure());
    realiser& work = **made;
    const auto digest = work.digest();
    if (!digest)
        return report(digest.failure());
    if (arguments.plan_only) {
        const auto plan = work.plan(*targets, until, say);
        if (!plan)
            return report(plan.failure());
        print_plan(*plan, arguments.as_json);
        return plan->what == realise_plan::need::unsupported ? exit_negative : exit_ok;
    }
    std::string name = digest->substr(0, 16);
    for (const target_id& target : *targets)
        name += "-" + target.path_text();
    name = name.substr(0, 200);
    const auto lock = flight(index, name, until, say);
    if (!lock)
        return report(lock.failure());
    const auto entries = read_index(index, of.name, ::geteuid());
    if (!entries)
        return report(entries.failure());
    std::string file;
    if (const index_entry* there = made_already(*entries, *digest, *targets, arguments.default_targets)) {
        say("ready: it has been realised before");
        file = there->file;
    } else {
        const auto plan = work.plan(*targets, until, say);
        if (!plan)
            return report(plan.failure());
        if (!arguments.as_json) {
            print_plan(*plan, false);
            std::fflush(stdout); // the plan comes before the hours, and before what goes wrong
        }
        if (plan->what == realise_plan::need::unsupported)
            return exit_negative;
        const std::time_t now = std::time(nullptr);
        // A garbage collector knows its roots by their paths, so this one never moves; the record remembers its name.
        const std::string root_name = fmt::format("{}-{}-{}", name, now, ::getpid());
        const std::string root = root_path(index, root_name);
        if (const status ready = make_directories(index + "/roots", directory_mode); !ready)
            return report(ready.failure());
        auto record = work.realise(*targets, root, until, say);
        if (!record)
            return report(record.failure());
        record->environment = of.name;
        record->provider = of.provider;
        record->digest = *digest;
        record->created = now;
        record->provenance["root"] = root_name;
        // What a node would refuse must not enter the index.
        if (const auto checked = parse_record(to_record(*record)); !checked)
            return report(checked.failure().within("the provider's record"));
        const auto written = add_to_index(index, *record);
        if (!written)
            return report(written.failure());
        file = *written;
    }
    if (arguments.as_json)
        fmt::print("{}", json{{"record", file}}.dump() + "\n");
    else
        fmt::print("record {}\n", file);
    return exit_ok;
}

int run_realise(const realise_arguments& arguments, const std::string& configuration) {
    const result<settings> site = load_settings(configuration);
    if (!site)
        return report(site.failure());
    if (arguments.targets.empty() != arguments.default_targets)
        return report({error_code::usage, "give either --targets T[,T...] or --default-targets"});
    const result<environment> of = wanted_environment(*site, arguments.environment, arguments.channels);
    if (!of)
        return report(of.failure());
    const bool own = is_digest_name(of->name) || ::geteuid() != 0;
    if (own && !is_digest_name(of->name))
        return report({error_code::usage, "environments of the site are realised by an administrator; your own is a "
                                          "file: amd-gpu-agent realise ./manifest.scm --targets T"});
    result<std::string> index = arguments.index;
    if (arguments.index.empty())
        index = own ? user_index_of(*site, ::geteuid()) : result<std::string>(site->index);
    if (!index)
        return report(index.failure());
    return realise(*site, *of, *index, arguments);
}

} // namespace

void add_realise(CLI::App& app, command_context& context) {
    const auto arguments = std::make_shared<realise_arguments>();
    CLI::App* command = app.add_subcommand("realise", "Make a variant of an environment and record it");
    command->add_option("ENV", arguments->environment, "Environment of the site, or (with a slash) a manifest file")
        ->required();
    command->add_option("--targets", arguments->targets, "Targets that one variant is made for: T[,T...]");
    command->add_flag("--default-targets", arguments->default_targets,
                      "Leave the targets to the environment's compiler: servers may have that variant");
    command->add_option("--channels", arguments->channels, "For a manifest file: the channels.scm that pins Guix");
    command->add_option("--index", arguments->index, "Another index than the site's, or for users, than one's own");
    command->add_option("--time-limit", arguments->time_limit, "Seconds that it may take")
        ->check(CLI::Range(1.0, 864000.0))
        ->capture_default_str();
    command->add_flag("--plan", arguments->plan_only, "Only say what would be downloaded and built");
    command->add_flag("--json", arguments->as_json, "Print JSON");
    command->callback([arguments, &context] { context.exit_status = run_realise(*arguments, context.configuration); });
}

} // namespace amd_gpu
