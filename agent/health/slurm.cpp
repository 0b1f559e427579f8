#include "health/slurm.hpp"

#include "system/process.hpp"

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

result<slurm_control::requeue_answer> slurm_control::requeue(uint32_t job) const {
    const auto answer = call(site_.scontrol, {"requeue", std::to_string(job)});
    if (answer)
        return requeue_answer::requeued;
    const std::string& words = answer.failure().what;
    if (words.find("Job is pending execution") != std::string::npos)
        return requeue_answer::requeued;
    if (words.find("Only batch jobs are accepted") != std::string::npos)
        return requeue_answer::not_batch;
    if (answer.failure().code == error_code::peer && words.find("Unable to contact") == std::string::npos &&
        words.find("timed out") == std::string::npos)
        return requeue_answer::not_allowed;
    return answer.failure();
}

status slurm_control::start_now(uint32_t job) const {
    const auto done = call(site_.scontrol, {"update", fmt::format("jobid={}", job), "StartTime=now"});
    return done ? success() : status(done.failure());
}

status slurm_control::notify(uint32_t job, const std::string& line) const {
    const auto done = call(site_.scontrol, {"notify", std::to_string(job), line});
    return done ? success() : status(done.failure());
}

status slurm_control::comment(uint32_t job, const std::string& line) const {
    const auto done = call(site_.scontrol, {"update", fmt::format("jobid={}", job), "comment=" + line});
    return done ? success() : status(done.failure());
}

result<bool> slurm_control::is_batch(uint32_t job) const {
    const auto shown = call(site_.scontrol, {"-o", "show", "job", std::to_string(job)});
    if (!shown)
        return shown.failure();
    return scontrol_field(*shown, "BatchFlag").value_or("0") != "0";
}

status slurm_control::cancel(uint32_t job, std::optional<uint32_t> step) const {
    const auto name = step ? fmt::format("{}.{}", job, *step) : std::to_string(job);
    const auto done = call(site_.scancel, {name});
    return done ? success() : status(done.failure());
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
