// The prolog and epilog processes of a node, as root. The job's GPUs are prepared before anything of the user's runs.
// Only a bad GPU under an interactive job fails the prolog; every other trouble is told to the user by the job's own
// tasks.

#include "spank/contexts.hpp"

#include "ranges.hpp"
#include "service/client.hpp"
#include "spank/asking.hpp"

#include <charconv>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace amd_gpu {
namespace {

std::string variable(const char* name) {
    const char* value = ::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

/// The option as the job was submitted with it; nothing when it was not given, is off, or is not understood (then it
/// never passed the check at submit, and the tasks will say so).
std::optional<request> submitted_option(spank_t spank) {
    char* value = nullptr;
    if (spank_option_getopt(spank, &the_option, &value) != ESPANK_SUCCESS || value == nullptr)
        return std::nullopt;
    auto read = parse_request(value);
    if (!read || read->off || read->help)
        return std::nullopt;
    return std::move(*read);
}

uint32_t restarts() {
    const std::string digits = variable("SLURM_JOB_RESTART_COUNT");
    uint32_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

} // namespace

int job_prolog(spank_t spank) {
    const auto option = submitted_option(spank);
    if (!option)
        return 0;
    auto asked = request_for(*option, state().settings.on_by_default);
    uid_t uid = 0;
    if (spank_get_item(spank, S_JOB_ID, &asked.job) != ESPANK_SUCCESS ||
        spank_get_item(spank, S_JOB_UID, &uid) != ESPANK_SUCCESS) {
        slurm_error("amd-gpu: Slurm does not tell the job's id");
        return 0;
    }
    if (option->environment_is_file()) {
        const auto file = parse_carried_file(variable(file_variable_of_prolog));
        if (!file)
            return 0; // the step says it to the user
        asked.environment = file->name;
    }
    asked.uid = uid;
    asked.restarts = restarts();
    asked.node = variable("SLURMD_NODENAME");
    asked.slurm_conf = variable("SLURM_CONF");
    asked.limit_ms = static_cast<uint32_t>(state().settings.deadline.count());
    if (const auto gpus = variable("SLURM_JOB_GPUS"); !gpus.empty())
        asked.gpus = parse_ranges(gpus);

    const auto answered = ask(state().settings.socket, to_message(asked), deadline::in(state().settings.deadline));
    const auto reply = answered ? to_reply(*answered) : result<preparation_reply>(answered.failure());
    if (!reply) {
        // No fault of the node: the step asks again, and tells the user when there is still no answer.
        slurm_error("amd-gpu: job %u: the agent does not answer: %s", asked.job, reply.failure().what.c_str());
        return 0;
    }
    if (!reply->fail_prolog)
        return 0;
    slurm_error("amd-gpu: job %u: %s", asked.job, reply->message.c_str());
    // An optional plugin's return code counts for nothing; this process exists for this callback alone.
    ::_exit(1);
}

int job_epilog(spank_t spank) {
    uint32_t job = 0;
    if (!submitted_option(spank) || spank_get_item(spank, S_JOB_ID, &job) != ESPANK_SUCCESS)
        return 0;
    message asked("release");
    asked.add("job", std::to_string(job));
    // An agent that is down has nothing to forget.
    const auto answered = ask(state().settings.socket, asked, deadline::in(std::chrono::seconds(5)));
    if (!answered)
        slurm_verbose("amd-gpu: job %u: not released: %s", job, answered.failure().what.c_str());
    return 0;
}

} // namespace amd_gpu
