// The preparations of the jobs on this node: made once for each job however many steps ask, remembered until the job
// ends, and, when they went wrong, told to Slurm in the one way that fits the kind of job.
#pragma once

#include "health/slurm.hpp"
#include "service/later.hpp"
#include "service/log_budget.hpp"
#include "service/preparer.hpp"

#include <map>
#include <memory>
#include <set>

namespace amd_gpu {

class preparations {
  public:
    explicit preparations(const settings& site)
        : site_(site)
        , preparer_(site) {}

    /// Answers a prolog (no step) or a step. A prolog makes its job's preparation; a step gets it. Where there is none
    /// (the option came with the step, or the agent was restarted) the step gets one of its own, for its own GPUs.
    preparation_reply answer(const preparation_request& request, const progress& say);
    /// Forgets a job that has ended.
    void release(uint32_t job);
    /// Forgets a step that was prepared late and has ended, and its job with its last one: the epilog of a job that did
    /// not give the option itself tells nothing.
    void release_step(uint32_t job, uint32_t step);
    /// Removes what jobs of an earlier agent have left on this node, and gets ready for those to come.
    void tidy_up();
    /// Counters, jobs and children that cannot be ended, as one JSON object.
    [[nodiscard]] std::string status_json() const;

    preparer& work() { return preparer_; }

  private:
    /// A job, and the step for a preparation that was made late for that step alone.
    using key = std::pair<uint32_t, std::optional<uint32_t>>;

    struct entry {
        bool making = true;
        unsigned serial = 0; ///< in order of their making, so that the oldest can be forgotten
        preparation_request request;
        preparation made;
        bool job_ended = false; ///< Slurm has been told to end the job
        std::set<uint32_t> steps_ended;
    };

    std::shared_ptr<entry> find_or_begin(const preparation_request& request, bool& begun);
    preparation make(const preparation_request& request, const std::vector<granted_gcd>* granted, bool alone,
                     const progress& say);
    [[nodiscard]] bool alone(uint32_t job) const;
    void settle(const preparation_request& request, preparation& made);
    void log(const preparation_request& request, const preparation_reply& reply);
    void tell_of_node_fault(const preparation_request& request, preparation& made);
    void start_again(const preparation_request& request, unsigned tries_left);
    void end_once(const preparation_request& request, entry& mine, const std::string& message);
    void sweep();
    void remove_cache(uint32_t job, unsigned tries_left);
    std::string node_name(const preparation_request& request);

    static constexpr unsigned most_lines = 60; // of one user in a minute

    const settings& site_;
    preparer preparer_;
    mutable std::mutex lock_;
    std::condition_variable made_;
    std::map<key, std::shared_ptr<entry>> entries_;
    unsigned serials_ = 0;
    log_budget log_{most_lines};
    std::string node_; ///< as Slurm's prologs name this node
    later removals_;   // apart from what Slurm is told, which must not wait for a large cache
    later later_;      // last: its thread must stop before what it uses goes
};

} // namespace amd_gpu
