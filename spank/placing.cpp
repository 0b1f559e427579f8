#include "spank/placing.hpp"

#include "placement/cpu_core.hpp"
#include "placement/map_text.hpp"
#include "placement/slurm_binding.hpp"
#include "ranges.hpp"
#include "spank/binding.hpp"
#include "spank/task_environment.hpp"

#include <algorithm>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// Where Slurm put each task of the node. The list is the user's environment: a forged one misplaces the user's own
/// tasks within the job's own GPUs and CPUs, and nothing else.
std::vector<cpu_list> tasks_bound(spank_t spank, uint32_t tasks) {
    const auto type = task_variable(spank, "SLURM_CPU_BIND_TYPE");
    const auto list = task_variable(spank, "SLURM_CPU_BIND_LIST");
    return type && list ? ranks_bound(*type, *list, tasks) : std::vector<cpu_list>{};
}

/// The CPUs that the tasks of this step may use. Without a cpuset of the step's own: all CPUs of a node that the step
/// has to itself, else those where Slurm put its tasks.
cpu_list usable_cpus(spank_t spank, const own_cpus& own, const std::vector<cpu_list>& bound) {
    if (own.fenced)
        return own.cpuset;
    const auto text = task_variable(spank, "SLURM_CPUS_ON_NODE");
    const auto count = text ? parse_decimal(*text) : std::nullopt;
    if (count && *count >= own.cpuset.size())
        return own.cpuset;
    cpu_list usable = own.bound;
    for (const auto& cpus : bound)
        usable.insert(usable.end(), cpus.begin(), cpus.end());
    std::sort(usable.begin(), usable.end());
    usable.erase(std::unique(usable.begin(), usable.end()), usable.end());
    return usable;
}

/// Says where the ranks run that Slurm or the user has bound, and whether that is beside their GPUs.
void show_binding(std::vector<rank_place>& rows, const placement_facts& facts) {
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        auto& row = rows[rank];
        row.remark.clear();
        row.cpus = rank < facts.bound.size() ? facts.bound[rank] : cpu_list{};
        const auto beside = [&](uint32_t cpu) {
            return std::any_of(row.gcds.begin(), row.gcds.end(), [&](std::size_t gcd) {
                const auto& closest = facts.closest[gcd];
                return closest.empty() || std::find(closest.begin(), closest.end(), cpu) != closest.end();
            });
        };
        if (!row.cpus.empty() && std::none_of(row.cpus.begin(), row.cpus.end(), beside))
            row.remark = "not beside its GPU";
    }
}

} // namespace

task_place place_of(spank_t spank) {
    task_place place;
    int local_id = 0;
    uint32_t tasks = 1;
    if (spank_get_item(spank, S_TASK_ID, &local_id) == ESPANK_SUCCESS && local_id >= 0)
        place.local_id = static_cast<uint32_t>(local_id);
    spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks); // stays 1 where Slurm does not say
    place.tasks = std::max(tasks, place.local_id + 1);
    return place;
}

std::vector<rank_place> place_tasks(spank_t spank, const placing& what) {
    placement_facts facts;
    facts.core_of = core_of;
    for (const auto& die : what.gcds)
        facts.closest.push_back(die.cores);
    const auto bound = tasks_bound(spank, what.place.tasks);
    facts.ranks = what.alone ? 1 : what.place.tasks;
    if (!what.alone)
        facts.bound = bound;
    else if (!bound.empty())
        facts.bound = {bound[what.place.local_id]};
    if (!what.binds) {
        auto rows = place_ranks(facts);
        show_binding(rows, facts);
        return rows;
    }
    if (const auto own = read_own_cpus())
        facts.usable = usable_cpus(spank, *own, bound);
    return place_ranks(facts);
}

std::vector<std::string> map_text(spank_t spank, const std::string& node, const placing& what,
                                  const std::vector<rank_place>& rows) {
    const auto listed = task_variable(spank, "SLURM_GTIDS");
    auto ranks = listed ? parse_ranges(*listed).value_or(std::vector<uint32_t>{}) : std::vector<uint32_t>{};
    if (what.alone) // each task says its own line
        ranks = {what.place.local_id < ranks.size() ? ranks[what.place.local_id] : what.place.local_id};
    std::vector<gcd_label> labels;
    for (const auto& die : what.gcds)
        labels.push_back({die.index, die.bdf, die.numa});
    auto lines = map_lines(node, rows, labels, ranks);
    if (what.alone && what.place.local_id != 0)
        lines.erase(lines.begin()); // the heading stands above the first task's
    return lines;
}

} // namespace amd_gpu
