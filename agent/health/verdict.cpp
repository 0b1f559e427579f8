#include "health/verdict.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace amd_gpu {
namespace {

using state = check_result::state;
constexpr std::size_t reason_limit = 200; // Slurm cuts nothing at this length and sinfo -R stays readable

/// Exit status of amd-gpu-probe(8) after its deadline.
constexpr int probe_deadline = 5;

check_result against_floor(const std::string& name, gcd_id bdf, double value, const std::string& unit,
                           const floor_value* floor) {
    check_result check{name, bdf, std::nullopt, state::unsupported, value, std::nullopt, unit, {}};
    if (floor == nullptr || floor->unit != unit) {
        check.evidence = "no floor";
        return check;
    }
    check.floor = floor->floor;
    check.how = value < floor->floor ? state::fail : state::pass;
    return check;
}

check_result assess_link(const link_measurement& measured, const node& where, const floor_table& floors) {
    const gcd* from = find_gcd(where, measured.from);
    const gcd* to = find_gcd(where, measured.to);
    const link* direct = from != nullptr && to != nullptr ? find_link(where, from->index, to->index) : nullptr;
    // Without a direct link the bytes take a route through others; how fast that should be nobody has published.
    const floor_value* floor =
        direct != nullptr && direct->links ? find_link_floor(floors, *from, *direct->links) : nullptr;
    auto check = against_floor("link", measured.from, measured.gb_per_s, "GB/s", floor);
    check.peer = measured.to;
    if (!measured.verified) {
        check.how = state::fail;
        check.evidence = "wrong contents arrived";
    }
    return check;
}

/// Errors of HIP that only a device in trouble gives (hip_runtime_api.h: ECCNotCorrectable, IllegalAddress,
/// LaunchTimeOut, LaunchFailure, Unknown, RuntimeMemory, RuntimeOther). Others come from held memory, a runtime that
/// does not fit, or us.
bool is_device_error(int code) {
    constexpr std::array proof{214, 700, 702, 719, 999, 1052, 1053};
    return std::find(proof.begin(), proof.end(), code) != proof.end();
}

/// Whether a child that hung did so on its device: it had got as far, and it had had time. What comes before (a program
/// or a library on a dead file system) is no GPU's fault.
bool hung_on_device(const probe_run& run) {
    constexpr std::chrono::milliseconds least_budget{1500};
    const auto& errors = run.report.errors;
    const bool reached =
        run.report.started ||
        (!errors.empty() && (errors.back().call.starts_with("hip") || errors.back().call.starts_with("kernel")));
    return reached && run.budget >= least_budget;
}

/// A child that survives SIGKILL waits in the kernel; for a GPU only when the wait channel or its own words say so.
bool stuck_in_driver(const probe_run& run) {
    const auto& where = run.ended->stuck_in;
    return where.find("kfd") != std::string::npos || where.find("amdgpu") != std::string::npos || hung_on_device(run);
}

/// How a child that did not end well ended, as evidence against its devices or only against the run.
std::optional<check_result> assess_ending(const probe_run& run) {
    check_result check{"probe",      run.bdfs.empty() ? gcd_id{} : run.bdfs.front(),
                       std::nullopt, state::could_not_run,
                       std::nullopt, std::nullopt,
                       {},           {}};
    if (run.no_time) {
        check.check = "link";
        check.how = state::unsupported;
        check.evidence = "not measured, because no time was left";
        return check;
    }
    if (!run.ended) {
        check.evidence = run.trouble;
        return check;
    }
    const auto& ended = *run.ended;
    if (ended.how == child_result::ending::exited && ended.code == 0 && run.report.ended)
        return std::nullopt;

    const probe_error* said = run.report.errors.empty() ? nullptr : &run.report.errors.back();
    if (said != nullptr && said->bdf)
        check.bdf = *said->bdf;
    if (said != nullptr && !said->probe.empty())
        check.check = said->probe;
    check.evidence = said == nullptr ? "the probe " + ended.text() : said->text;
    if (said != nullptr && !said->call.empty())
        check.evidence = fmt::format("{} failed: {}", said->call, said->text);
    switch (ended.how) {
    case child_result::ending::abandoned:
        check.how = stuck_in_driver(run) ? state::fail : state::could_not_run;
        check.evidence = "GPU does not answer: the probe " + ended.text();
        break;
    case child_result::ending::timed_out:
        check.how = hung_on_device(run) ? state::fail : state::could_not_run;
        check.evidence = "GPU does not answer: the probe " + ended.text();
        break;
    case child_result::ending::signalled: // by an administrator, the OOM killer or a crash in a library: no proof
        check.evidence = "the probe " + ended.text();
        break;
    case child_result::ending::exited:
        if (ended.code == probe_deadline) {
            check.how = hung_on_device(run) ? state::fail : state::could_not_run;
            check.evidence =
                fmt::format("GPU does not answer: {}{}{}", said == nullptr ? "" : said->call,
                            said == nullptr || said->call.empty() ? "" : ": ", said == nullptr ? "" : said->text);
        } else if (said != nullptr && said->code && said->call != "hipInit" && is_device_error(*said->code)) {
            check.how = state::fail;
        }
        break;
    }
    return check;
}

} // namespace

std::string_view text_of(state how) {
    switch (how) {
    case state::pass:
        return "pass";
    case state::warn:
        return "warn";
    case state::fail:
        return "fail";
    case state::unsupported:
        return "unsupported";
    case state::could_not_run:
        return "could_not_run";
    }
    return "?";
}

std::string text_of(const check_result& check) {
    std::string text = check.bdf.text();
    if (check.peer)
        text += fmt::format(" to {}", check.peer->text());
    text += " " + check.check;
    const bool compared = check.measured && check.floor && check.evidence.empty();
    if (compared)
        text += fmt::format(" {:.4g}{}{:.4g} {}", *check.measured,
                            *check.measured < *check.floor ? "<" : ">=", *check.floor, check.unit);
    else
        text += ": " + check.evidence;
    return text;
}

std::vector<check_result> assess(const probe_run& run, const node& where, const floor_table& floors) {
    std::vector<check_result> checks;
    for (const auto& measured : run.report.measurements) {
        if (measured.unit == "errors") {
            check_result check{
                measured.probe, measured.bdf, std::nullopt, state::pass, measured.value, 0, "errors", {}};
            if (measured.value > 0) {
                check.how = state::fail;
                check.evidence = fmt::format("{:.0f} wrong results", measured.value);
                if (!run.report.mismatches.empty())
                    check.evidence += ", first " + run.report.mismatches.front();
            }
            checks.push_back(std::move(check));
            continue;
        }
        const gcd* die = find_gcd(where, measured.bdf);
        const floor_value* floor = die != nullptr ? find_floor(floors, *die, measured.probe) : nullptr;
        checks.push_back(against_floor(measured.probe, measured.bdf, measured.value, measured.unit, floor));
    }
    for (const auto& measured : run.report.links)
        checks.push_back(assess_link(measured, where, floors));
    // A wrong result is a failure even when the probe counts it nowhere else.
    const bool counted = std::any_of(checks.begin(), checks.end(), [](const check_result& check) {
        return check.how == state::fail && !check.evidence.empty();
    });
    if (!run.report.mismatches.empty() && !counted && !run.bdfs.empty())
        checks.push_back({"contents",
                          run.bdfs.front(),
                          std::nullopt,
                          state::fail,
                          std::nullopt,
                          std::nullopt,
                          {},
                          run.report.mismatches.front()});
    if (auto ending = assess_ending(run))
        checks.push_back(std::move(*ending));
    return checks;
}

std::vector<gcd_id> below_floor(const std::vector<check_result>& checks) {
    std::vector<gcd_id> bdfs;
    const auto add = [&](const gcd_id& bdf) {
        if (std::find(bdfs.begin(), bdfs.end(), bdf) == bdfs.end())
            bdfs.push_back(bdf);
    };
    for (const auto& check : checks) {
        if (check.how != state::fail || !check.evidence.empty() || !check.floor)
            continue;
        add(check.bdf);
        if (check.peer)
            add(*check.peer);
    }
    return bdfs;
}

std::vector<check_result> two_of_three(const std::vector<std::vector<check_result>>& rounds) {
    using key = std::tuple<gcd_id, std::optional<gcd_id>, std::string>;
    const auto key_of = [](const check_result& check) { return key{check.bdf, check.peer, check.check}; };
    std::map<key, int> slow;
    for (const auto& round : rounds)
        for (const auto& check : round)
            if (check.how == state::fail && check.evidence.empty())
                ++slow[key_of(check)];
    std::vector<check_result> kept;
    for (const auto& round : rounds)
        for (const auto& check : round) {
            const bool only_slow = check.how == state::fail && check.evidence.empty();
            const auto known = std::find_if(kept.begin(), kept.end(),
                                            [&](const check_result& other) { return key_of(other) == key_of(check); });
            check_result judged = check;
            if (only_slow && slow[key_of(check)] < 2) {
                judged.how = state::warn;
                judged.evidence = fmt::format("{:.4g}<{:.4g} {} in one of {} runs", *check.measured, *check.floor,
                                              check.unit, rounds.size());
            }
            if (known == kept.end())
                kept.push_back(std::move(judged));
            else if (known->how != state::fail && judged.how == state::fail)
                *known = std::move(judged);
        }
    return kept;
}

namespace {

/// What to do about a failed check: a device that does not answer needs another boot, one that answers wrongly another
/// test.
std::string_view action_for(const check_result& check) {
    return check.evidence.starts_with("GPU does not answer") ? "reboot, then hardware" : "confirm: amd-gpu-agent probe";
}

} // namespace

verdict fold(const std::vector<check_result>& checks) {
    for (const auto& check : checks)
        if (check.how == state::fail)
            return {outcome::node_fault, text_of(check),
                    node_reason(fmt::format("{} ({})", text_of(check), action_for(check)))};
    for (const auto& check : checks)
        if (check.how == state::could_not_run)
            return {outcome::service_fault, "the GPUs could not be probed: " + text_of(check), {}};
    return {};
}

std::string node_reason(std::string_view text) {
    std::string reason = "amd-gpu: ";
    for (const char letter : text)
        reason += letter >= ' ' && letter <= '~' && letter != '"' ? letter : ' ';
    if (reason.size() > reason_limit) {
        reason.resize(reason_limit - 3);
        reason += "...";
    }
    return reason;
}

} // namespace amd_gpu
