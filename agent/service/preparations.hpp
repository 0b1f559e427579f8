// The preparations of the jobs on this node: made once for each job however many steps ask, remembered until the job
// ends, and, when they went wrong, told to Slurm in the one way that fits the kind of job.
#pragma once

#include "health/slurm.hpp"
#include "service/later.hpp"
#include "service/preparer.hpp"

#include <map>
#include <memory>

namespace amd_gpu {

class preparations {
  public:
    explicit preparations(const settings& site)
        : site_(site)
        , preparer_(site) {}

    /// Answers a prolog (no step) or a step. A prolog makes a new preparation; a step gets its job's, or has one made
    /// now.
    preparation_reply answer(const preparation_request& request, const preparer::progress& say);
    /// Forgets a job that has ended.
    void release(uint32_t job);
    /// Counters, jobs and children that cannot be ended, as one JSON object.
    [[nodiscard]] std::string status_json() const;

    preparer& work() { return preparer_; }

  private:
    struct entry {
        bool making = false;
        bool cancelled = false; ///< Slurm has been told to end the job
        unsigned serial = 0;    ///< in order of their making, so that the oldest can be forgotten
        preparation_request request;
        preparation made;
    };

    preparation make(const preparation_request& request, const std::vector<granted_gcd>* granted,
                     const preparer::progress& say);
    void tell_of_node_fault(const preparation_request& request, preparation& made);
    void end_job_later(const preparation_request& request, const std::string& message);
    void forget_oldest();

    const settings& site_;
    preparer preparer_;
    mutable std::mutex lock_;
    std::condition_variable made_;
    std::map<uint32_t, std::shared_ptr<entry>> jobs_;
    unsigned serials_ = 0;
    later later_; // last: its thread must stop before what it uses goes
};

} // namespace amd_gpu
