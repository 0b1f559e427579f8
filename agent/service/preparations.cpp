#include "service/preparations.hpp"

#include "service/job_caches.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/syslog.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto after_answer = 1000ms; // so that the tasks' own last line reaches the user before the job is ended
constexpr auto between_looks = 2000ms;
constexpr unsigned most_looks = 10;        // then Slurm's own two minutes are not much longer
constexpr uint32_t most_requeues = 2;      // a job that met three bad nodes will not be helped by a fourth
constexpr std::size_t most_entries = 1024; // a node runs far fewer at once; epilogs that never came must not add up
constexpr auto between_sweeps = 600000ms;
constexpr auto longest_removal = 10000ms; // of a job's caches at a time: an agent that ends waits no longer
constexpr auto between_removals = 2000ms;
constexpr unsigned most_removals = 5;
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

/// Ends what an exception would leave half done: whoever waits for this preparation must not wait for ever.
preparation failed_preparation(const char* what) {
    preparation made;
    made.reply.how = outcome::service_fault;
    made.reply.message = fmt::format("the agent could not prepare: {}", what);
    return made;
}

} // namespace

preparation preparations::make(const preparation_request& request, const std::vector<granted_gcd>* granted, bool alone,
                               const progress& say) {
    const auto limit = request.limit_ms == 0 ? longest_preparation : std::chrono::milliseconds(request.limit_ms);
    preparation made;
    try {
        made = preparer_.prepare(request, granted, alone,
                                 deadline::in(std::min<std::chrono::milliseconds>(limit, longest_preparation)), say);
    } catch (const std::exception& problem) { // no memory, no threads: the libraries' way to say so
        made = failed_preparation(problem.what());
    }
    settle(request, made);
    return made;
}

std::shared_ptr<preparations::entry> preparations::find_or_begin(const preparation_request& request, bool& begun) {
    if (request.step) {
        if (const auto of_job = entries_.find({request.job, std::nullopt}); of_job != entries_.end())
            return of_job->second;
        if (request.attach_only)
            return nullptr;
    }
    auto& place = entries_[{request.job, request.step}];
    // A prolog begins anew: the same job may come back after a requeue, with other GPUs.
    begun = !place || !request.step;
    if (begun) {
        place = std::make_shared<entry>();
        place->serial = ++serials_;
        place->request = request;
    }
    const auto mine = place;
    while (entries_.size() > most_entries) {
        const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
            return a.second->serial < b.second->serial;
        });
        entries_.erase(oldest);
    }
    return mine;
}

/// Whether no other job is known to have GCDs here, or to be about to get some. To be called with the lock held.
bool preparations::alone(uint32_t job) const {
    return std::none_of(entries_.begin(), entries_.end(), [&](const auto& known) {
        return known.first.first != job && (known.second->making || !known.second->made.reply.gcds.empty());
    });
}

preparation_reply preparations::answer(const preparation_request& request, const progress& say) {
    std::unique_lock hold(lock_);
    if (!request.step && !request.node.empty())
        node_ = request.node;
    bool begun = false;
    const auto mine = find_or_begin(request, begun);
    if (!mine) {
        preparation_reply none;
        none.absent = true;
        return none;
    }
    if (begun) {
        const bool nobody_else = alone(request.job);
        hold.unlock();
        auto made = make(request, nullptr, nobody_else, say);
        hold.lock();
        mine->made = std::move(made);
        mine->making = false;
        made_.notify_all();
    } else {
        made_.wait(hold, [&] { return !mine->making; });
    }
    if (!request.step)
        return mine->made.reply;

    preparation_reply reply = mine->made.reply;
    if (reply.how == outcome::ready && !same_wish(request, mine->request)) {
        // A step with a wish of its own: another environment on the same GCDs, which are not probed under a running
        // job.
        const auto granted = reply.gcds;
        hold.unlock();
        reply = make(request, &granted, true, say).reply;
        hold.lock();
    }
    if (!request.mask.empty())
        reply.mask = request.mask;
    if (!request.bind.empty())
        reply.bind = request.bind;
    if (reply.how != outcome::ready && !reply.run_anyway && !request.by_hand)
        end_once(request, *mine, reply.message);
    return reply;
}

/// Slurm's name of this node. A step learns it from its host's name at best, so a prolog's word counts for more.
std::string preparations::node_name(const preparation_request& request) {
    const std::lock_guard hold(lock_);
    return request.step && !node_.empty() ? node_ : request.node;
}

/// Applies the site's policy to a preparation that has just been made, and tells Slurm what it must know.
void preparations::settle(const preparation_request& request, preparation& made) {
    auto& reply = made.reply;
    reply.node = node_name(request);
    if (reply.how == outcome::node_fault && !site_.drain) {
        reply.how = outcome::service_fault;
        reply.message += " (this site does not drain nodes by itself)";
    }
    if (reply.how == outcome::node_fault && !request.by_hand)
        tell_of_node_fault(request, made);
    reply.run_anyway = reply.how == outcome::service_fault && site_.on_service_fault == fault_policy::run_anyway;
    log(request, reply);
}

/// One line for each preparation, within the user's share of the log; what is wrong with the node is always told.
void preparations::log(const preparation_request& request, const preparation_reply& reply) {
    const auto allowed = log_.line(request.uid, std::chrono::steady_clock::now());
    if (allowed == log_budget::answer::drop && reply.how != outcome::node_fault)
        return;
    ::syslog(LOG_INFO, "job %u: %s%s%s", request.job, std::string(text_of(reply.how)).c_str(),
             reply.message.empty() ? "" : ": ", reply.message.c_str());
    if (allowed == log_budget::answer::last)
        ::syslog(LOG_NOTICE, "uid %u: many preparations in a minute; the next ones are not logged", request.uid);
}

/// A bad GPU: the node leaves service. Before the job has started, a batch job goes back to the queue and an
/// interactive one can only be ended by a prolog that fails; a step ends like one with a fault of its own.
void preparations::tell_of_node_fault(const preparation_request& request, preparation& made) {
    auto& reply = made.reply;
    const slurm_control slurm(site_, request.slurm_conf);
    const auto drained = slurm.drain(reply.node, made.reason);
    if (!drained)
        log_failure("drain", drained.failure());
    if (request.step)
        return;
    const auto job = slurm.look_up(request.job);
    if (!drained || !job) {
        // Without slurmctld a failed prolog is the way left: slurmd takes the node out of service by itself.
        reply.fail_prolog = true;
        return;
    }
    const std::string line = fmt::format("amd-gpu: {}: {}", reply.node, reply.message);
    if (!job->batch) {
        log_failure("notify", slurm.notify(*job, line));
        reply.fail_prolog = true;
        return;
    }
    log_failure("comment", slurm.comment(*job, line));
    if (request.restarts >= most_requeues) {
        reply.message += fmt::format("; the job was requeued {} times already, so it ends here", request.restarts);
        log_failure("cancel", slurm.cancel(*job, std::nullopt));
        return;
    }
    const auto answer = slurm.requeue(*job);
    if (!answer) {
        log_failure("requeue", answer.failure());
        reply.fail_prolog = true;
    } else if (*answer == slurm_control::requeue_answer::requeued) {
        start_again(request, most_looks);
    } else {
        log_failure("cancel", slurm.cancel(*job, std::nullopt));
    }
}

/// Lets a requeued job start as soon as it may, instead of after Slurm's two minutes. While the old attempt is still
/// being taken down, Slurm would set the time back; and an attempt within the second of the last one is mistaken for it
/// by slurmd, because credentials count whole seconds.
void preparations::start_again(const preparation_request& request, unsigned tries_left) {
    later_.after(between_looks, [this, request, tries_left] {
        const slurm_control slurm(site_, request.slurm_conf);
        const auto job = slurm.look_up(request.job);
        if (job && job->state == "PENDING")
            log_failure("start", slurm.start_now(*job));
        else if (tries_left > 1)
            start_again(request, tries_left - 1);
    });
}

/// The tasks of this node end with the line; those of other nodes would run on, so the job is ended as a whole. Inside
/// a salloc only the step goes, because the allocation is the user's to keep; a batch script that is itself the step
/// ends its job by failing.
void preparations::end_once(const preparation_request& request, entry& mine, const std::string& message) {
    const bool first = request.within_allocation ? mine.steps_ended.insert(*request.step).second
                                                 : !std::exchange(mine.job_ended, true);
    if (!first)
        return;
    const std::string line = fmt::format("amd-gpu: {}: {}", mine.made.reply.node, message);
    later_.after(after_answer, [this, request, line] {
        const slurm_control slurm(site_, request.slurm_conf);
        const auto job = slurm.look_up(request.job);
        if (!job) {
            log_failure("look up", job.failure());
            return;
        }
        if (job->batch)
            log_failure("comment", slurm.comment(*job, line));
        if (request.step == batch_step)
            return;
        const bool only_step = request.within_allocation && !job->batch;
        log_failure("cancel", slurm.cancel(*job, only_step ? request.step : std::nullopt));
    });
}

void preparations::release(uint32_t job) {
    {
        const std::lock_guard hold(lock_);
        std::erase_if(entries_, [&](const auto& known) { return known.first.first == job; });
    }
    preparer_.release(job);
    removals_.after(0ms, [this, job] { remove_cache(job, most_removals); });
}

void preparations::release_step(uint32_t job, uint32_t step) {
    {
        const std::lock_guard hold(lock_);
        entries_.erase({job, step});
        const auto of_job = [&](const auto& known) { return known.first.first == job; };
        if (std::any_of(entries_.begin(), entries_.end(), of_job))
            return;
    }
    release(job);
}

/// The next attempt of a job that was requeued may be here before its last one's cache is gone; then it is that one's.
void preparations::remove_cache(uint32_t job, unsigned tries_left) {
    status done = success();
    if (!has_step_daemon(job))
        done = remove_job_cache(site_, job, deadline::in(longest_removal));
    else if (tries_left <= 1)
        return;
    else
        done = error{error_code::timed_out, "its step daemon is still there"};
    if (!done && tries_left > 1)
        removals_.after(between_removals, [this, job, tries_left] { remove_cache(job, tries_left - 1); });
    else
        log_failure("remove caches", done);
}

void preparations::tidy_up() {
    log_failure("caches of jobs", make_job_cache_parent(site_));
    removals_.after(0ms, [this] {
        log_failure("cache of images", preparer_.recover(deadline::in(longest_removal)));
        sweep();
    });
}

/// Not every job's end is told: the epilog knows nothing of an option that was given to a step alone.
void preparations::sweep() {
    const auto alive = [this](uint32_t job) {
        const std::lock_guard hold(lock_);
        return entries_.contains({job, std::nullopt}) || has_step_daemon(job);
    };
    remove_old_job_caches(site_, alive, deadline::in(longest_removal));
    removals_.after(between_sweeps, [this] { sweep(); });
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
    for (const auto& [name, known] : entries_) {
        nlohmann::json one = {{"job", name.first}, {"uid", known->request.uid}};
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
