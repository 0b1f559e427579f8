#include "probing/prober.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <climits>
#include <csignal>
#include <fmt/format.h>
#include <grp.h>
#include <thread>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// The probe user with the groups that own the device nodes (root:render 0660, video in older systems).
result<identity> probe_identity(const std::string& user) {
    auto who = identity_of(user);
    if (!who)
        return who;
    for (const char* name : {"render", "video"}) {
        char buffer[16384];
        group entry{};
        group* found = nullptr;
        if (::getgrnam_r(name, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr)
            who->groups.push_back(found->gr_gid);
    }
    return who;
}

/// The runtime touches every device that it sees when it starts, so it is shown no others: slow, and a device that
/// hangs would take the innocent with it. A partition without an id of its own can only be named by its position, which
/// holds here because no device cgroup hides anything from the agent's children. A whole die without one is not masked
/// at all, since the child finds it by its PCI address in any case.
std::string mask_for(const node& where, const std::vector<gcd_id>& bdfs) {
    std::vector<const gcd*> dies;
    for (const auto& bdf : bdfs)
        dies.push_back(find_gcd(where, bdf));
    const auto all = [&](auto has) {
        return std::all_of(dies.begin(), dies.end(), [&](const gcd* die) { return die != nullptr && has(*die); });
    };
    const bool by_id = all([](const gcd& die) { return die.unique_id.has_value(); });
    if (!by_id && !all([](const gcd& die) { return die.partition && die.kfd_node; }))
        return {};
    std::string mask;
    for (const gcd* die : dies)
        mask += (mask.empty() ? "" : ",") +
                (by_id ? fmt::format("GPU-{:016x}", *die->unique_id) : std::to_string(*runtime_position(where, *die)));
    return mask;
}

probe_run run_child(const settings& site, std::vector<std::string> arguments, std::vector<gcd_id> bdfs,
                    const std::string& mask, deadline until) {
    probe_run run_of;
    run_of.bdfs = std::move(bdfs);
    run_of.budget = until.left();
    command what;
    what.arguments = std::move(arguments);
    what.environment = {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C"};
    if (!mask.empty())
        what.environment.push_back("ROCR_VISIBLE_DEVICES=" + mask);
    if (::geteuid() == 0) {
        auto who = probe_identity(site.probe_user);
        if (!who) {
            run_of.trouble = who.failure().what;
            return run_of;
        }
        what.as = std::move(*who);
    }
    auto ended = run(what, until, [&](std::string_view line) {
        if (const auto added = add_line(run_of.report, line); !added && run_of.trouble.empty())
            run_of.trouble = added.failure().what;
    });
    if (ended)
        run_of.ended = std::move(*ended);
    else
        run_of.trouble = ended.failure().what;
    return run_of;
}

std::vector<std::string> common_arguments(const settings& site, const char* verb, uint64_t bytes, deadline until) {
    // The child gives up by itself a little before it is stopped, so that it can say where it was.
    const double seconds = std::max(0.2, static_cast<double>(until.left().count()) / 1000.0 - 0.3);
    std::vector<std::string> arguments{probe_program(site),   verb,         "--bytes",
                                       std::to_string(bytes), "--deadline", fmt::format("{:.1f}", seconds)};
    if (!site.hip_library.empty())
        arguments.insert(arguments.end(), {"--hip", site.hip_library});
    return arguments;
}

} // namespace

std::string probe_program(const settings& site) {
    if (!site.probe_program.empty())
        return site.probe_program;
    const auto self = read_link("/proc/self/exe");
    const std::string directory = self ? self->substr(0, self->rfind('/')) : "/usr/sbin";
    for (const char* place : {"/amd-gpu-probe", "/../libexec/amd-gpu-probe"})
        if (::access((directory + place).c_str(), X_OK) == 0)
            return directory + place;
    return directory + "/amd-gpu-probe";
}

probe_plan plan_for(probe_level level, const std::vector<gcd_id>& gcds) {
    switch (level) {
    case probe_level::off:
        return {};
    case probe_level::quick:
        return {gcds, {"hbm_copy", "fma64"}, gcds.size() > 1};
    case probe_level::standard:
        return {gcds, {"hbm_copy", "fma64", "pattern"}, gcds.size() > 1};
    }
    return {};
}

std::vector<probe_run> run_probes(const settings& site, const node& where, const probe_plan& plan, deadline until) {
    std::vector<probe_run> runs(plan.gcds.size());
    const auto begin = deadline::clock::now();
    {
        std::string names;
        for (const auto& name : plan.probes)
            names += (names.empty() ? "" : ",") + name;
        std::vector<std::jthread> children;
        for (std::size_t i = 0; i < plan.gcds.size(); ++i)
            children.emplace_back([&, i] {
                auto arguments = common_arguments(site, "gcd", site.gcd_bytes, until);
                arguments.insert(arguments.end(), {"--bdf", plan.gcds[i].text(), "--probes", names});
                runs[i] = run_child(site, std::move(arguments), {plan.gcds[i]}, mask_for(where, {plan.gcds[i]}), until);
            });
    }
    // The pairs take about as long as the GCDs did. Started with less, they would run into the deadline without any
    // fault.
    if (plan.links && until.left() < 3 * (deadline::clock::now() - begin) / 2) {
        runs.emplace_back().bdfs = plan.gcds;
        runs.back().no_time = true;
    } else if (plan.links) {
        auto arguments = common_arguments(site, "pairs", site.link_bytes, until);
        for (const auto& bdf : plan.gcds)
            arguments.insert(arguments.end(), {"--bdf", bdf.text()});
        runs.push_back(run_child(site, std::move(arguments), plan.gcds, mask_for(where, plan.gcds), until));
    }
    return runs;
}

std::vector<std::string> users_of(const gcd& die, const std::string& sysfs) {
    std::vector<std::string> users;
    if (!die.kfd_gpu_id)
        return users;
    const std::string processes = sysfs + "/class/kfd/kfd/proc";
    for (const auto& pid : list_directory(processes)) {
        const auto number = parse_number(pid);
        if (!number || *number > INT_MAX)
            continue;
        // A process that opened /dev/kfd and uses no GPU is listed too, with nothing allocated and no queue.
        const auto bytes = read_number(fmt::format("{}/{}/vram_{}", processes, pid, *die.kfd_gpu_id));
        bool uses = bytes.value_or(0) > 0;
        for (const auto& queue : list_directory(fmt::format("{}/{}/queues", processes, pid)))
            uses = uses || read_number(fmt::format("{}/{}/queues/{}/gpuid", processes, pid, queue)) == die.kfd_gpu_id;
        // An entry whose process is gone is a lost context: nobody runs there, which is for the health check to report.
        if (uses && ::kill(static_cast<pid_t>(*number), 0) == 0)
            users.push_back("pid " + pid);
    }
    return users;
}

} // namespace amd_gpu
