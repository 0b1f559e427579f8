#include "health/probe_rounds.hpp"

#include "probing/marker.hpp"

#include <algorithm>
#include <thread>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto held_grace = 5000ms; // a big process takes seconds to give its memory back
constexpr std::size_t most_rounds = 3;

check_result not_run(const gcd_id& bdf, std::string why) {
    return {"probe",      bdf,          std::nullopt, check_result::state::could_not_run,
            std::nullopt, std::nullopt, {},           std::move(why)};
}

/// Who uses one of the GCDs, after waiting a little for whoever is just leaving.
std::optional<check_result> still_held(const node& where, const std::vector<gcd_id>& bdfs, deadline patience) {
    for (const auto& die : where.gcds) {
        if (std::find(bdfs.begin(), bdfs.end(), die.id()) == bdfs.end())
            continue;
        auto users = users_of(die);
        while (!users.empty() && !patience.passed()) {
            std::this_thread::sleep_for(std::min(100ms, patience.left()));
            users = users_of(die);
        }
        if (!users.empty())
            return not_run(die.id(), "held by " + users.front() + ", so it was not probed");
    }
    return std::nullopt;
}

/// Wrong contents, an error or a hang: proof that needs no second opinion.
bool is_proof(const check_result& check) {
    return check.how == check_result::state::fail && !check.evidence.empty();
}

} // namespace

probed probe_and_judge(const settings& site, const node& where, const std::vector<gcd_id>& bdfs, probe_level level,
                       held_means when_held, deadline until) {
    if (bdfs.empty())
        return {};
    if (auto held = still_held(where, bdfs, until.at_most(held_grace))) {
        if (when_held == held_means::nothing)
            held->how = check_result::state::unsupported;
        return {{std::move(*held)}, 0};
    }
    const auto floors = load_floors(site.floors_directory);
    if (!floors)
        return {{not_run(bdfs.front(), floors.failure().what)}, 0};

    const probe_markers markers(site.state_directory, where.boot_id);
    std::vector<gcd_id> safe = bdfs;
    std::vector<check_result> left_alone;
    for (const auto& bdf : markers.unfinished(bdfs)) {
        std::erase(safe, bdf);
        left_alone.push_back({"probe",
                              bdf,
                              std::nullopt,
                              check_result::state::warn,
                              std::nullopt,
                              std::nullopt,
                              {},
                              "the node went down while it was last probed, so it is not probed again before: "
                              "amd-gpu-agent probe --acknowledge"});
    }
    if (safe.empty())
        return {left_alone, 0};
    if (const auto marked = markers.set(safe); !marked) {
        markers.clear(safe);
        return {{not_run(safe.front(), marked.failure().what)}, 0};
    }

    std::vector<std::vector<check_result>> rounds;
    unsigned children = 0;
    auto plan = plan_for(level, safe);
    const deadline limit = until.at_most(site.probe_deadline); // the waiting above is not the GPUs' fault
    for (;;) {
        const auto begin = deadline::clock::now();
        std::vector<check_result> checks;
        for (const auto& run : run_probes(site, where, plan, limit)) {
            ++children;
            const auto found = assess(run, where, *floors);
            checks.insert(checks.end(), found.begin(), found.end());
        }
        rounds.push_back(std::move(checks));
        // Only what was slow gets another chance, and only on the devices that were; two rounds that agree are enough.
        const auto suspects = below_floor(rounds.front());
        const bool proven = std::any_of(rounds.back().begin(), rounds.back().end(), is_proof);
        const bool agreed = rounds.size() == 2 && below_floor(rounds.back()) == suspects;
        // A round that has less time than this one took would end in its deadline and blame the GPU for it.
        const bool no_time = limit.left() < deadline::clock::now() - begin;
        if (proven || suspects.empty() || agreed || rounds.size() == most_rounds || no_time)
            break;
        plan = plan_for(level, suspects);
    }
    markers.clear(safe);
    rounds.push_back(std::move(left_alone));
    return {two_of_three(rounds), children};
}

} // namespace amd_gpu
