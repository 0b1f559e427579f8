// slurmstepd and the tasks. slurmstepd, as root, fetches the job's preparation once for all tasks of the step; each
// task, as the user, then ends with one line or gets its GCDs, its environment and its cores.

#include "spank/contexts.hpp"

#include "placement/visibility.hpp"
#include "ranges.hpp"
#include "service/client.hpp"
#include "spank/activate.hpp"
#include "spank/asking.hpp"
#include "spank/binding.hpp"
#include "spank/bounded.hpp"
#include "spank/devices.hpp"
#include "spank/job_cache.hpp"
#include "spank/mounts.hpp"
#include "spank/placing.hpp"
#include "spank/task.hpp"
#include "spank/task_environment.hpp"
#include "spank/temporary.hpp"
#include "system/host.hpp"

#include <algorithm>
#include <string>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// What slurmstepd fetched, for the tasks that it forks.
struct fetched {
    std::string node;
    preparation_request asked;
    preparation_reply reply;
    std::string bad_option;             ///< the option's own mistake, when it slipped past the check at submit
    std::vector<granted_gcd> step_gcds; ///< those that the step's device cgroup lets through
    std::string no_cache;               ///< why the job has no directory for caches; empty when it has
    std::string no_mount;               ///< why the software could not be put where it must lie
    first_task libraries;               ///< whether the tasks' program gets the environment's
};
fetched step;

/// Prints lines on the user's terminal in one piece, so that other nodes' lines do not come in between.
void say(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines)
        text += (text.empty() ? "" : "\n") + ("amd-gpu: " + step.node + ": " + line);
    slurm_spank_log("%s", text.c_str());
}

void say(const std::string& line) {
    say(std::vector<std::string>{line});
}

/// Asks what `step.asked` says. An agent that does not answer is an answer, too.
preparation_reply ask_agent() {
    const auto limit = state().settings.deadline;
    const auto answered = ask(state().settings.socket, to_message(step.asked), deadline::in(limit));
    result<preparation_reply> reply = answered ? to_reply(*answered) : answered.failure();
    if (answered && answered->text("kind") == "refused")
        reply = error{error_code::peer, std::string(answered->text("message"))};
    if (reply) {
        if (!reply->node.empty())
            step.node = reply->node;
        if (state().file) {
            reply->message = told_by_path(std::move(reply->message), *state().file);
            for (auto& line : reply->report)
                line = told_by_path(std::move(line), *state().file);
        }
        return std::move(*reply);
    }
    preparation_reply none;
    none.how = outcome::service_fault;
    none.run_anyway = state().settings.run_without_agent;
    none.message = "amd-gpu-agent does not answer (" + reply.failure().what +
                   "); an administrator can start it with: systemctl start amd-gpu-agent";
    slurm_error("amd-gpu: %s", none.message.c_str());
    return none;
}

constexpr unsigned most_kfd_nodes = 80; // 64 partitions and the processors

/// The GCDs that the tasks of this step share out: where no device cgroup narrows the job's, Slurm's list does.
std::vector<granted_gcd> gcds_of_step(spank_t spank, const std::vector<granted_gcd>& open) {
    const auto listed = task_variable(spank, "SLURM_STEP_GPUS");
    const auto indices = listed ? parse_ranges(*listed) : std::nullopt;
    const bool counted =
        std::all_of(open.begin(), open.end(), [](const granted_gcd& die) { return die.slurm_index.has_value(); });
    if (!indices || !counted || open.size() < step.reply.gcds.size())
        return open;
    std::vector<granted_gcd> usable = open;
    std::erase_if(usable, [&](const granted_gcd& die) {
        return std::find(indices->begin(), indices->end(), *die.slurm_index) == indices->end();
    });
    return usable.empty() ? open : usable;
}

/// ROCR's mask for some of the job's GCDs. Opening a GPU costs the driver more than a file, so the node's other GPUs
/// are looked at only when the mask depends on them.
std::optional<std::string> mask_of(const std::vector<granted_gcd>& mine, const std::vector<granted_gcd>& open) {
    const bool by_id =
        std::none_of(mine.begin(), mine.end(), [](const granted_gcd& die) { return die.unique_id.empty(); });
    return rocr_mask(mine, open, by_id ? device_fence{} : fence_around(open));
}

/// What the job's own masks leave over, when they stay as they are. Known only where the job's GPUs are all that the
/// runtime lists.
std::vector<std::string> mask_problems(spank_t spank, std::vector<granted_gcd> open) {
    const auto has_position = [](const granted_gcd& die) { return die.position.has_value(); };
    if (fence_around(open).others_open || !std::all_of(open.begin(), open.end(), has_position))
        return {};
    std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return *a.position < *b.position; });
    std::vector<std::string> ids;
    for (const auto& die : open)
        ids.push_back(die.unique_id);
    const auto read = [&](const std::string& name) { return task_variable(spank, name); };
    return visible(visibility_of(read), ids).problems;
}

/// One line about a TMPDIR that will make trouble. It may lie on a file server that is gone.
std::string hint_about_temporary(spank_t spank) {
    const auto path = task_variable(spank, "TMPDIR");
    if (!path || path->empty())
        return {};
    const auto answer =
        run_bounded(std::chrono::milliseconds(2000), [&] { write_out(to_text(look_at_directory(*path))); });
    if (!answer)
        return "TMPDIR=" + *path + " does not answer";
    const auto facts = parse_directory_facts(*answer);
    return facts ? temporary_hint(*path, *facts) : std::string();
}

/// What a user should know though nothing is wrong with the job, once a step.
std::vector<std::string> remarks(spank_t spank, const placing& what) {
    std::vector<std::string> lines;
    uint32_t node_of_job = 0;
    if (what.place.local_id != 0 || spank_get_item(spank, S_JOB_NODEID, &node_of_job) != ESPANK_SUCCESS ||
        node_of_job != 0)
        return lines;
    if (step.reply.mask == "none")
        lines = mask_problems(spank, what.gcds);
    if (auto hint = hint_about_temporary(spank); !hint.empty())
        lines.push_back(std::move(hint));
    if (what.alone && what.place.tasks > 1)
        lines.emplace_back(
            "each task can open only its own GPU (--gpus-per-task, --gpu-bind), so copies between the GPUs "
            "of different tasks fail or go through the host's memory; with --gpus-per-node=N "
            "--gpu-bind=none instead, mask=rank still gives each task its own GPU");
    // The form with a number is that of one KFD node (libhsakmt, topology.c).
    std::vector<std::string> names{"HSA_OVERRIDE_GFX_VERSION"};
    for (unsigned node = 0; node < most_kfd_nodes; ++node)
        names.push_back("HSA_OVERRIDE_GFX_VERSION_" + std::to_string(node));
    for (const auto& name : names)
        if (const auto value = task_variable(spank, name))
            lines.push_back(name + "=" + *value + " makes the runtime take the " +
                            (what.gcds.empty() ? "GPUs" : what.gcds.front().target) +
                            " for other GPUs; unless that is meant, unset it");
    return lines;
}

/// An explicit --cpu-bind is the user's word against a site's default; bind=closest in the option is the user's, too.
bool user_binds(spank_t spank) {
    return state().option->bind.empty() && task_variable(spank, binds_variable).has_value();
}

/// Ends this task with the reason on the user's terminal, once for all tasks of the node. Under an optional plugin a
/// return code counts for nothing, and this process was about to exec the user's program: it ends itself.
[[noreturn]] void end_task(task_place place, const std::string& line) {
    if (place.local_id == 0)
        say(line);
    ::_exit(1);
}

/// Makes the job's directory for caches, while there are still the rights to.
void make_cache(spank_t spank) {
    uid_t user = 0;
    gid_t group = 0;
    if (step.reply.cache.empty())
        return;
    if (spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_GID, &group) != ESPANK_SUCCESS) {
        step.no_cache = "Slurm does not tell whose job this is";
        return;
    }
    const auto made = make_job_directory(job_directory_of(step.reply.cache), user, group);
    if (!made)
        step.no_cache = made.failure().what;
}

/// Applies the reply's edits and the task's own, and sees to it that the environment is what the program will get. What
/// a user should know goes into `lines`; a fault ends the task.
void change_environment(spank_t spank, task_place place, const std::vector<edit>& own,
                        std::vector<std::string>& lines) {
    const bool first = place.local_id == 0;
    const auto variant = variant_in(step.reply.edits);
    const auto value = [&](const std::string& name) { return task_variable(spank, name); };
    std::vector<edit> edits;
    if (variant)
        edits = leaving_edits(step.reply.edits, value(variant_variable).value_or(""), value);
    edits.insert(edits.end(), step.reply.edits.begin(), step.reply.edits.end());
    edits.insert(edits.end(), own.begin(), own.end());
    if (!step.reply.cache.empty() && step.no_cache.empty()) {
        if (const auto made = make_caches(step.reply.cache); !made)
            step.no_cache = made.failure().what;
    }
    if (!step.no_cache.empty() && first)
        lines.push_back("the job has no directory for caches on this node (" + step.no_cache + ")");
    else if (!step.reply.cache.empty() && step.no_cache.empty())
        for (auto& change : cache_edits(step.reply.cache))
            edits.push_back(std::move(change));
    for (const auto& name : apply_to_task(spank, edits))
        if (first)
            lines.push_back("the variable " + name + " could not be changed; its value would be too long");
    if (variant) {
        const activation_wish wish{state().settings.libraries, !state().option->environment.empty(), first};
        const auto done = finish_activation(spank, *variant, wish, step.libraries);
        if (first && state().option->verbose)
            lines.insert(lines.end(), done.details.begin(), done.details.end());
        if (first)
            lines.insert(lines.end(), done.lines.begin(), done.lines.end());
        if (!done.fault.empty())
            end_task(place, done.fault);
    }
    if (const auto why = too_large(spank); !why.empty())
        end_task(place, why);
}

} // namespace

int step_option(const char* value) {
    auto read = parse_request(value);
    if (read) {
        state().option = std::move(*read);
        step.bad_option.clear();
    } else {
        // A value that was forged into the job's environment: an empty request keeps the tasks from running unprepared.
        state().option = request{};
        step.bad_option = read.failure().what;
    }
    return 0;
}

int step_post_option(spank_t spank) {
    step.node = slurm_node_name(); // of slurmstepd's environment: the job's is the user's and is not asked
    // Should anything go wrong before there is an answer, no task runs unprepared.
    step.reply.how = outcome::service_fault;
    step.reply.message = "the job was not prepared: see slurmd's log on this node";
    step.asked = request_for(*state().option, state().settings.on_by_default);
    auto& asked = step.asked;
    uint32_t id = 0;
    uid_t uid = 0;
    if (!step.bad_option.empty() || spank_get_item(spank, S_JOB_ID, &asked.job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_STEPID, &id) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS) {
        step.reply.how = outcome::job_fault;
        step.reply.message =
            step.bad_option.empty() ? "Slurm does not tell the job's id" : "--amd-gpu: " + step.bad_option;
        return 0;
    }
    if (!state().problem.empty()) {
        step.reply.message = state().problem;
        return 0;
    }
    if (state().option->environment_is_file()) {
        state().file = parse_carried_file(task_variable(spank, file_variable).value_or(""));
        if (!state().file) {
            step.reply.how = outcome::job_fault;
            step.reply.message = "what env=FILE was read as did not reach this node; submit the job with srun, sbatch "
                                 "or salloc on a host that has the plugin";
            return 0;
        }
        asked.environment = state().file->name;
    }
    asked.uid = uid;
    asked.step = id;
    asked.node = step.node;
    asked.limit_ms = static_cast<uint32_t>(state().settings.deadline.count());
    asked.within_allocation = task_variable(spank, within_variable).has_value();
    if (const char* conf = ::getenv("SLURM_CONF"); conf != nullptr)
        asked.slurm_conf = conf;
    asked.attach_only = true;
    step.reply = ask_agent();
    step.libraries.share();
    return 0;
}

int task_privileged(spank_t spank) {
    // A preparation that has to be made now begins here, where the step's device cgroup says which GPUs are its own.
    // Each task asks; the agent makes it once.
    if (step.reply.absent) {
        auto& asked = step.asked;
        asked.attach_only = false;
        asked.render_minors = open_render_minors();
        const bool script = asked.step == batch_step;
        if (const auto list = task_variable(spank, script ? "SLURM_JOB_GPUS" : "SLURM_STEP_GPUS"))
            asked.gpus = parse_ranges(*list);
        step.reply = ask_agent();
    }
    make_cache(spank);
    if (const auto mounted = mount_for_task(step.reply.mounts); !mounted)
        step.no_mount = mounted.failure().what;
    // In the step's device cgroup, but not yet in the task's own: the difference tells whether tasks have GPUs of their
    // own.
    step.step_gcds = openable(step.reply.gcds);
    return 0;
}

int task_start(spank_t spank) {
    const auto place = place_of(spank);
    const auto& reply = step.reply;
    if (reply.how != outcome::ready) {
        if (!reply.run_anyway)
            end_task(place, reply.message);
        if (place.local_id == 0)
            say(reply.message + "; the job runs all the same, as this site has decided");
    }
    if (!step.no_mount.empty())
        end_task(place, step.no_mount);
    if (reply.gcds.empty())
        return 0; // no AMD GPUs on this node

    const bool first = place.local_id == 0;
    if (first && state().option->verbose)
        say(reply.report);

    const auto open = openable(reply.gcds);
    if (open.empty() && step.step_gcds.empty() && task_variable(spank, "SLURM_STEP_GPUS").value_or("").empty()) {
        if (first && state().option->verbose)
            say("this step has none of the job's GPUs");
        return 0;
    }
    if (open.empty())
        end_task(place, why_closed(reply.gcds));
    placing what;
    what.place = place;
    // Fewer than the step has: a cgroup of the task's own (--gpus-per-task) has decided already.
    what.alone = open.size() < step.step_gcds.size();
    what.gcds = what.alone ? open : gcds_of_step(spank, open);
    what.binds = reply.bind == "closest" && !user_binds(spank);
    const auto rows = place_tasks(spank, what);
    const auto& row = rows[what.alone ? 0 : place.local_id];

    std::vector<granted_gcd> mine;
    if (reply.mask == "rank")
        for (const auto gcd : row.gcds)
            mine.push_back(what.gcds[gcd]);
    else
        mine = reply.mask == "job" ? job_order(what.gcds, rows) : what.gcds;
    const auto mask = reply.mask == "none" ? std::nullopt : mask_of(mine, open);
    auto lines = remarks(spank, what);
    if (!mask && reply.mask != "none" && first)
        lines.emplace_back(
            "no mask can be set: the GPUs have no unique ids, and only some of the others can be opened");
    const auto own =
        task_edits(mine, mask, [&](const std::string& name) { return task_variable(spank, name).has_value(); });
    change_environment(spank, place, own, lines);

    const bool bound = !what.binds || row.cpus.empty() || bind_to(row.cpus);
    if (state().option->verbose) {
        if (first || what.alone)
            for (auto& line : map_text(spank, step.node, what, rows))
                lines.push_back(std::move(line));
        if (!bound)
            lines.push_back("task " + std::to_string(place.local_id) + " could not be bound to its closest CPUs");
    }
    if (!lines.empty())
        say(lines);
    return 0;
}

int step_exit() {
    // slurmstepd's own copy still says what it was told before the tasks: that this job has no preparation.
    if (!step.reply.absent || !step.asked.step)
        return 0;
    message asked("release");
    asked.add("job", std::to_string(step.asked.job)).add("step", std::to_string(*step.asked.step));
    // An agent that is down has nothing to forget.
    const auto answered = ask(state().settings.socket, asked, deadline::in(std::chrono::seconds(5)));
    if (!answered)
        slurm_verbose("amd-gpu: job %u: not released: %s", step.asked.job, answered.failure().what.c_str());
    return 0;
}

} // namespace amd_gpu
