#include "service/preparations.hpp"

#include "system/process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/syslog.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto after_answer = 1000ms;   // so that the tasks' own last line reaches the user before the job is ended
constexpr uint32_t most_requeues = 2;   // a job that met three bad nodes will not be helped by a fourth
constexpr std::size_t most_jobs = 1024; // a node runs far fewer at once; epilogs that never came must not add up
constexpr auto longest_preparation = 120000ms;

/// Whether a step asks for the same thing as its job did, so that the job's preparation serves it as it is.
bool same_wish(const preparation_request& a, const preparation_request& b) {
    return a.targets == b.targets && a.environment == b.environment;
}

/// Says on syslog (journald) what could not be done; the answer to the job does not depend on it.
void log_failure(const char* what, const error& failure) {
    ::syslog(LOG_WARNING, "%s: %s", what, failure.what.c_str());
}

void log_failure(const char* what, const status& done) {
    if (!done)
        log_failure(what, done.failure());
}

} // namespace

preparation preparations::make(const preparation_request& request, const std::vector<granted_gcd>* granted,
                               const preparer::progress& say) {
    const auto limit = request.limit_ms == 0 ? longest_preparation : std::chrono::milliseconds(request.limit_ms);
    return preparer_.prepare(request, granted,
                             deadline::in(std::min<std::chrono::milliseconds>(limit, longest_preparation)), say);
}

preparation_reply preparations::answer(const preparation_request& request, const preparer::progress& say) {
    const bool in_prolog = !request.step;
    std::unique_lock hold(lock_);
    auto& place = jobs_[request.job];
    if (in_prolog || !place)
        place = std::make_shared<entry>();
    const auto mine = place;
    if (mine->serial == 0) {
        mine->serial = ++serials_;
        mine->making = true;
        mine->request = request;
        forget_oldest();
        hold.unlock();
        auto made = make(request, nullptr, say);
        if (in_prolog && made.reply.how == outcome::node_fault)
            tell_of_node_fault(request, made);
        if (!in_prolog && made.reply.how == outcome::node_fault && site_.drain && !request.by_hand) {
            const auto drained = slurm_control(site_, request.slurm_conf).drain(request.node, made.reason);
            if (!drained)
                log_failure("drain", drained.failure());
        }
        made.reply.run_anyway =
            made.reply.how == outcome::service_fault && site_.on_service_fault == fault_policy::run_anyway;
        ::syslog(LOG_INFO, "job %u: %.*s%s%s", request.job, static_cast<int>(text_of(made.reply.how).size()),
                 text_of(made.reply.how).data(), made.reply.message.empty() ? "" : ": ", made.reply.message.c_str());
        hold.lock();
        mine->made = std::move(made);
        mine->making = false;
        made_.notify_all();
    } else {
        made_.wait(hold, [&] { return !mine->making; });
    }
    if (in_prolog)
        return mine->made.reply;

    preparation_reply reply = mine->made.reply;
    if (reply.how == outcome::ready && !same_wish(request, mine->request)) {
        // A step with a wish of its own: another environment on the same GCDs, which are not probed under a running
        // job.
        hold.unlock();
        reply = make(request, &mine->made.reply.gcds, say).reply;
        hold.lock();
    }
    if (!request.mask.empty())
        reply.mask = request.mask;
    if (!request.bind.empty())
        reply.bind = request.bind;
    if (reply.how != outcome::ready && !reply.run_anyway && !mine->cancelled && !request.by_hand) {
        mine->cancelled = true;
        hold.unlock();
        end_job_later(request, reply.message);
    }
    return reply;
}

/// A bad GPU found before the job started: the node leaves service, a batch job goes back to the queue, and an
/// interactive one can only be ended by a prolog that fails. `made` becomes what the job's steps are to be told, should
/// any start.
void preparations::tell_of_node_fault(const preparation_request& request, preparation& made) {
    if (!site_.drain) {
        made.reply.how = outcome::service_fault;
        made.reply.message += " (this site does not drain nodes by itself)";
        return;
    }
    const slurm_control slurm(site_, request.slurm_conf);
    const auto drained = slurm.drain(request.node, made.reason);
    if (!drained) {
        // Without slurmctld a failed prolog is the way left: slurmd takes the node out of service by itself.
        log_failure("drain", drained.failure());
        made.reply.fail_prolog = true;
        return;
    }
    const std::string line = fmt::format("amd-gpu: {}: {}", request.node, made.reply.message);
    if (request.restarts >= most_requeues) {
        made.reply.message += fmt::format("; requeued {} times already, so the job ends here", request.restarts);
        log_failure("comment", slurm.comment(request.job, line));
        later_.after(after_answer, [this, request] {
            log_failure("cancel", slurm_control(site_, request.slurm_conf).cancel(request.job, std::nullopt));
        });
        return;
    }
    const auto answer = slurm.requeue(request.job);
    if (!answer) {
        log_failure("requeue", answer.failure());
        made.reply.fail_prolog = true;
        return;
    }
    switch (*answer) {
    case slurm_control::requeue_answer::requeued:
        log_failure("comment", slurm.comment(request.job, line));
        later_.after(after_answer, [this, request] {
            log_failure("start", slurm_control(site_, request.slurm_conf).start_now(request.job));
        });
        break;
    case slurm_control::requeue_answer::not_batch:
        log_failure("notify", slurm.notify(request.job, line));
        made.reply.fail_prolog = true;
        break;
    case slurm_control::requeue_answer::not_allowed:
        log_failure("comment", slurm.comment(request.job, line));
        log_failure("cancel", slurm.cancel(request.job, std::nullopt));
        break;
    }
}

/// The tasks of this node end with the line; those of other nodes would run on, so the job is ended as a whole. Inside
/// a salloc only the step goes, because the allocation is the user's to keep; a batch script that is itself the step
/// ends its job by failing.
void preparations::end_job_later(const preparation_request& request, const std::string& message) {
    later_.after(after_answer, [this, request, message] {
        const slurm_control slurm(site_, request.slurm_conf);
        const auto batch = slurm.is_batch(request.job);
        if (batch && *batch)
            log_failure("comment", slurm.comment(request.job, fmt::format("amd-gpu: {}: {}", request.node, message)));
        if (request.step == batch_step)
            return;
        const bool only_step = request.within_allocation && batch && !*batch;
        log_failure("cancel", slurm.cancel(request.job, only_step ? request.step : std::nullopt));
    });
}

void preparations::forget_oldest() {
    if (jobs_.size() <= most_jobs)
        return;
    auto oldest = jobs_.end();
    for (auto it = jobs_.begin(); it != jobs_.end(); ++it)
        if (!it->second->making && (oldest == jobs_.end() || it->second->serial < oldest->second->serial))
            oldest = it;
    if (oldest != jobs_.end())
        jobs_.erase(oldest);
}

void preparations::release(uint32_t job) {
    const std::lock_guard hold(lock_);
    jobs_.erase(job);
}

std::string preparations::status_json() const {
    const auto counters = preparer_.counters();
    nlohmann::json answer = {{"schema", 1},
                             {"version", AMD_GPU_VERSION},
                             {"counters",
                              {{"discoveries", counters.discoveries},
                               {"activations", counters.activations},
                               {"probe_children", counters.probe_children}}},
                             {"abandoned_children", abandoned_children()}};
    answer["jobs"] = nlohmann::json::array();
    const std::lock_guard hold(lock_);
    for (const auto& [job, known] : jobs_) {
        nlohmann::json one = {{"job", job}, {"uid", known->request.uid}};
        one["outcome"] = known->making ? nlohmann::json("preparing") : nlohmann::json(text_of(known->made.reply.how));
        one["message"] = known->made.reply.message;
        one["environment"] = known->request.environment;
        one["bdfs"] = nlohmann::json::array();
        for (const auto& die : known->made.reply.gcds)
            one["bdfs"].push_back(die.bdf);
        answer["jobs"].push_back(std::move(one));
    }
    return answer.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace amd_gpu
