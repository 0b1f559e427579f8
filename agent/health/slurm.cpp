#include "health/slurm.hpp"

#include "system/process.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto call_limit = 5000ms;
constexpr std::string_view our_tag = "amd-gpu:";

} // namespace

slurm_control::slurm_control(const settings& site, std::string conf)
    : site_(site)
    , conf_(std::move(conf)) {}

result<std::string> slurm_control::call(const std::string& program, const std::vector<std::string>& arguments) const {
    command what;
    what.arguments = {program};
    what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
    what.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    const std::string& conf = site_.slurm_conf.empty() ? conf_ : site_.slurm_conf;
    if (!conf.empty())
        what.environment.push_back("SLURM_CONF=" + conf);
    const auto ended = run(what, deadline::in(call_limit));
    if (!ended)
        return ended.failure();
    if (ended->succeeded())
        return ended->output;
    const auto words = ended->diagnostics.empty() ? ended->text() : ended->diagnostics.substr(0, 400);
    const auto code = ended->how == child_result::ending::exited ? error_code::peer : error_code::timed_out;
    return error{code, fmt::format("{} {}: {}", program, arguments.empty() ? "" : arguments.front(), words)};
}

result<bool> slurm_control::drain(const std::string& node, const std::string& reason) const {
    const auto shown = call(site_.scontrol, {"-o", "show", "node", node});
    if (!shown)
        return shown.failure();
    const auto state = scontrol_field(*shown, "State").value_or("");
    const auto present = scontrol_field(*shown, "Reason").value_or("");
    const bool out_of_service = state.find("DRAIN") != std::string::npos || state.find("DOWN") != std::string::npos ||
                                state.find("FAIL") != std::string::npos || state.find("MAINT") != std::string::npos;
    if (out_of_service && !present.starts_with(our_tag))
        return false;
    const auto updated = call(site_.scontrol, {"update", "nodename=" + node, "state=drain", "reason=" + reason});
    if (!updated)
        return updated.failure();
    return true;
}

result<slurm_control::job_record> slurm_control::look_up(uint32_t job) const {
    const auto shown = call(site_.scontrol, {"-o", "show", "job", std::to_string(job)});
    if (!shown)
        return shown.failure();
    auto found = job_record_in(*shown, job);
    if (!found)
        return error{error_code::peer, fmt::format("slurmctld does not know job {}", job)};
    // Of a heterogeneous job only the first component has the script.
    if (!found->batch && found->leader != found->name)
        if (const auto first = call(site_.scontrol, {"-o", "show", "job", found->leader}))
            found->batch = first->find("BatchFlag=1") != std::string::npos;
    return std::move(*found);
}

result<slurm_control::requeue_answer> slurm_control::requeue(const job_record& job) const {
    const auto answer = call(site_.scontrol, {"requeue", job.leader});
    if (answer)
        return requeue_answer::requeued;
    const std::string& words = answer.failure().what;
    if (words.find("Job is pending execution") != std::string::npos)
        return requeue_answer::requeued;
    if (words.find("Only batch jobs are accepted") != std::string::npos)
        return requeue_answer::not_batch;
    if (words.find("Requested operation is presently disabled") != std::string::npos)
        return requeue_answer::not_allowed;
    return answer.failure();
}

status slurm_control::order(const std::string& program, const std::vector<std::string>& arguments) const {
    const auto done = call(program, arguments);
    return done ? success() : status(done.failure());
}

status slurm_control::start_now(const job_record& job) const {
    return order(site_.scontrol, {"update", "jobid=" + job.leader, "StartTime=now"});
}

status slurm_control::notify(const job_record& job, const std::string& line) const {
    return order(site_.scontrol, {"notify", job.name, line});
}

status slurm_control::comment(const job_record& job, const std::string& line) const {
    return order(site_.scontrol, {"update", "jobid=" + job.name, "comment=" + line});
}

status slurm_control::cancel(const job_record& job, std::optional<uint32_t> step) const {
    return order(site_.scancel, {step ? fmt::format("{}.{}", job.name, *step) : job.leader});
}

std::optional<slurm_control::job_record> job_record_in(const std::string& output, uint32_t job) {
    const auto digits_only = [](const std::string& text) {
        return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    };
    std::string_view rest = output;
    while (!rest.empty()) {
        const std::string line(rest.substr(0, rest.find('\n')));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (scontrol_field(line, "JobId") != std::to_string(job))
            continue;
        const std::string name = std::to_string(job);
        slurm_control::job_record found{name, name, scontrol_field(line, "BatchFlag").value_or("0") != "0",
                                        scontrol_field(line, "JobState").value_or("")};
        const auto array = scontrol_field(line, "ArrayJobId");
        const auto task = scontrol_field(line, "ArrayTaskId");
        if (array && task && digits_only(*task))
            found.name = found.leader = *array + "_" + *task;
        // A heterogeneous job is requeued and ended as a whole, through its first component.
        if (const auto first = scontrol_field(line, "HetJobId"); first && digits_only(*first) && *first != "0")
            found.leader = *first;
        return found;
    }
    return std::nullopt;
}

std::optional<std::string> scontrol_field(const std::string& line, const std::string& name) {
    std::size_t start = line.find(name + "=");
    while (start != std::string::npos && start != 0 && line[start - 1] != ' ')
        start = line.find(name + "=", start + 1);
    if (start == std::string::npos)
        return std::nullopt;
    start += name.size() + 1;
    std::size_t end = start;
    while (end < line.size() && line[end] != '\n') {
        if (line[end] == ' ') {
            std::size_t word = end + 1;
            while (word < line.size() &&
                   (std::isalnum(static_cast<unsigned char>(line[word])) != 0 || line[word] == ':'))
                ++word;
            if (word > end + 1 && word < line.size() && line[word] == '=')
                break;
        }
        ++end;
    }
    return line.substr(start, end - start);
}

} // namespace amd_gpu
