// amd-gpu-agent probe: tests the GPUs of this node now, by hand.

#include "commands/commands.hpp"

#include "discovery/discover.hpp"
#include "health/probe_rounds.hpp"
#include "probing/marker.hpp"
#include "service/report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

using nlohmann::ordered_json;

struct wish {
    std::vector<std::string> bdfs;
    std::string level = "standard";
    double seconds = 60;
    bool as_json = false;
    bool acknowledge = false;
};

template<typename T>
ordered_json or_null(const std::optional<T>& fact) {
    return fact ? ordered_json(*fact) : ordered_json(nullptr);
}

ordered_json json_of_checks(const node& where, const std::vector<check_result>& checks) {
    auto list = ordered_json::array();
    for (const auto& check : checks) {
        const gcd* die = find_gcd(where, check.bdf);
        ordered_json one;
        one["bdf"] = check.bdf.bdf.text();
        one["partition"] = or_null(check.bdf.partition);
        one["gcd"] = die == nullptr ? ordered_json(nullptr) : ordered_json(die->index);
        one["probe"] = check.check;
        if (check.peer)
            one["to"] = check.peer->text();
        one["state"] = text_of(check.how);
        one["measured"] = or_null(check.measured);
        one["floor"] = or_null(check.floor);
        one["unit"] = check.unit;
        one["evidence"] = check.evidence;
        list.push_back(std::move(one));
    }
    return list;
}

/// The GCDs to probe: those that were named, or all that the driver is bound to.
result<std::vector<gcd_id>> chosen(const node& where, const std::vector<std::string>& names) {
    std::vector<gcd_id> bdfs;
    for (const auto& name : names) {
        const auto bdf = gcd_id::parse(name);
        const gcd* die = bdf ? find_gcd(where, *bdf) : nullptr;
        if (die == nullptr || !die->bound)
            return error{
                error_code::usage,
                fmt::format("\"{:.40}\" is not the PCI address of a GCD here; see: amd-gpu-agent discover", name)};
        if (std::find(bdfs.begin(), bdfs.end(), *bdf) == bdfs.end())
            bdfs.push_back(*bdf);
    }
    if (names.empty())
        for (const auto& die : where.gcds)
            if (die.bound)
                bdfs.push_back(die.id());
    return bdfs;
}

int probe_here(const command_context& context, const wish& given) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto until = deadline::in(std::chrono::milliseconds(static_cast<int64_t>(given.seconds * 1000)));
    const auto where = discover(*site, until.at_most(site->discovery_deadline));
    if (!where)
        return report(where.failure());
    const auto bdfs = chosen(*where, given.bdfs);
    if (!bdfs)
        return report(bdfs.failure());
    if (bdfs->empty())
        return report({error_code::unsupported, "there is no AMD GPU with a driver on this node"});

    if (given.acknowledge)
        probe_markers(site->state_directory, where->boot_id).clear(*bdfs);
    settings patient = *site; // whoever types this says how long it may take
    patient.probe_deadline = until.left();
    const auto level = parse_probe_level(given.level).value_or(probe_level::standard);
    const auto checks = probe_and_judge(patient, *where, *bdfs, level, held_means::not_probed, until).checks;
    const auto judged = fold(checks);
    if (given.as_json) {
        fmt::print("{}\n", json_of_checks(*where, checks).dump(2, ' ', false, ordered_json::error_handler_t::replace));
    } else {
        for (const auto& line : probe_lines(*where, *bdfs, checks))
            fmt::print("{}\n", line);
        fmt::print("{}\n", judged.how == outcome::ready ? "all is well" : judged.message);
    }
    if (judged.how == outcome::service_fault)
        return exit_unavailable;
    return judged.how == outcome::ready ? exit_ok : exit_negative;
}

} // namespace

void add_probe(CLI::App& app, command_context& context) {
    const auto given = std::make_shared<wish>();
    auto* probe_command = app.add_subcommand("probe", "test the GPUs of this node now (no job may be using them)");
    probe_command->add_option(
        "--gcd", given->bdfs,
        "GCD to test, by PCI address and, if partitioned, /PARTITION; may be repeated (default: all)");
    probe_command->add_option("--level", given->level, "quick or standard")
        ->check(CLI::IsMember({"quick", "standard"}))
        ->capture_default_str();
    probe_command->add_option("--deadline", given->seconds, "seconds until the verdict")
        ->check(CLI::Range(0.5, 3600.0))
        ->capture_default_str();
    probe_command->add_flag("--acknowledge", given->acknowledge,
                            "probe also where the node went down during an earlier probe");
    probe_command->add_flag("--json", given->as_json, "for machines");
    probe_command->callback([&context, given] { context.exit_status = probe_here(context, *given); });
}

} // namespace amd_gpu
