// slurmstepd and the tasks. slurmstepd, as root, fetches the job's preparation once for all tasks of the step; each
// task, as the user, then ends with one line or gets its GCDs, its environment and its cores.

#include "spank/contexts.hpp"

#include "ranges.hpp"
#include "service/client.hpp"
#include "spank/asking.hpp"
#include "spank/binding.hpp"
#include "spank/task.hpp"
#include "spank/task_environment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
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
};
fetched step;

/// Slurm's name of this node. The job's environment is the user's and is not asked.
std::string node_name() {
    if (const char* name = ::getenv("SLURMD_NODENAME"); name != nullptr)
        return name;
    char host[256] = {};
    if (::gethostname(host, sizeof host - 1) != 0)
        return "localhost";
    const std::string name = host;
    return name.substr(0, name.find('.'));
}

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

bool can_open_minor(uint32_t minor) {
    const std::string path = "/dev/dri/renderD" + std::to_string(minor);
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0)
        ::close(fd);
    return fd >= 0 || (errno != EPERM && errno != EACCES && errno != ENOENT);
}

/// N of every /dev/dri/renderD<N> that this process may open. DRM gives render nodes the minors from 128 on.
std::vector<uint32_t> open_render_minors() {
    std::vector<uint32_t> minors;
    for (uint32_t minor = 128; minor < 512; ++minor)
        if (can_open_minor(minor))
            minors.push_back(minor);
    return minors;
}

bool can_open(const granted_gcd& die) {
    return !die.render_minor || can_open_minor(*die.render_minor); // without a device node a cgroup can deny nothing
}

std::vector<granted_gcd> openable(const std::vector<granted_gcd>& gcds) {
    std::vector<granted_gcd> open;
    std::copy_if(gcds.begin(), gcds.end(), std::back_inserter(open), can_open);
    return open;
}

/// The GCDs of this task. A device cgroup of its own (--gpus-per-task) has decided already; else Slurm's list of the
/// step's GPUs narrows the job's, and the tasks share them by rank.
std::vector<granted_gcd> gcds_of_task(spank_t spank, const std::vector<granted_gcd>& open, task_place place,
                                      bool share) {
    if (open.size() < step.step_gcds.size())
        return open;
    std::vector<granted_gcd> usable = open;
    const auto listed = task_variable(spank, "SLURM_STEP_GPUS");
    const auto indices = listed ? parse_ranges(*listed) : std::nullopt;
    if (indices && open.size() == step.reply.gcds.size())
        std::erase_if(usable, [&](const granted_gcd& die) {
            return std::find(indices->begin(), indices->end(), die.slurm_index) == indices->end();
        });
    if (usable.empty())
        usable = open;
    return share ? share_of(usable, place) : usable;
}

task_place place_of(spank_t spank) {
    task_place place;
    int local_id = 0;
    uint32_t tasks = 1;
    if (spank_get_item(spank, S_TASK_ID, &local_id) == ESPANK_SUCCESS && local_id >= 0)
        place.local_id = static_cast<uint32_t>(local_id);
    if (spank_get_item(spank, S_JOB_LOCAL_TASK_COUNT, &tasks) == ESPANK_SUCCESS)
        place.tasks = tasks;
    return place;
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
    step.node = node_name();
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
    asked.uid = uid;
    asked.step = id;
    asked.node = step.node;
    asked.limit_ms = static_cast<uint32_t>(state().settings.deadline.count());
    asked.within_allocation = task_variable(spank, within_variable).has_value();
    if (const char* conf = ::getenv("SLURM_CONF"); conf != nullptr)
        asked.slurm_conf = conf;
    asked.attach_only = true;
    step.reply = ask_agent();
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
    if (reply.gcds.empty())
        return 0; // no AMD GPUs on this node

    const bool first = place.local_id == 0;
    if (first && state().option->verbose)
        say(reply.report);

    const auto open = openable(reply.gcds);
    if (open.empty())
        end_task(place,
                 "none of the GPUs that were prepared can be opened here: Slurm counts them in another order than "
                 "by their device files; use AutoDetect=rsmi, or ascending File= lines in gres.conf");
    const auto mine = gcds_of_task(spank, open, place, reply.mask == "rank");
    const auto mask = reply.mask == "none" ? std::nullopt : rocr_mask(mine, open);
    auto edits = reply.edits;
    const auto own =
        task_edits(mine, mask, [&](const std::string& name) { return task_variable(spank, name).has_value(); });
    edits.insert(edits.end(), own.begin(), own.end());
    for (const auto& name : apply_to_task(spank, edits))
        if (first)
            say("the variable " + name + " could not be changed; its value would be too long");

    if (reply.bind != "closest" || user_binds(spank))
        return 0;
    std::vector<uint32_t> cores;
    for (const auto& die : mine)
        cores.insert(cores.end(), die.cores.begin(), die.cores.end());
    const std::string note = bind_closest(cores);
    if (!note.empty() && state().option->verbose)
        say("task " + std::to_string(place.local_id) + ": " + note);
    return 0;
}

} // namespace amd_gpu
