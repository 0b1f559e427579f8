// Makes a preparation: from a job's request to its GCDs, its environment and a verdict on both. It knows nothing of
// Slurm beyond the indices in the request, and of sockets nothing at all.
#pragma once

#include "configuration/settings.hpp"
#include "health/probe_rounds.hpp"
#include "health/verdict.hpp"
#include "node/node.hpp"
#include "service/activations.hpp"
#include "service/exchange.hpp"
#include "service/single_flight.hpp"
#include "service/slurm_gpus.hpp"
#include "system/deadline.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

namespace amd_gpu {

/// What the agent did for one job on one node.
struct preparation {
    preparation_reply reply;
    std::string reason; ///< node fault: what Slurm's node reason is to say
};

/// How often each costly thing was really done.
struct work_counters {
    unsigned discoveries = 0;
    unsigned activations = 0;
    unsigned probe_children = 0;
};

class preparer {
  public:
    explicit preparer(const settings& site)
        : site_(site)
        , activations_(site) {}

    /// The whole way. `granted`: GCDs that were prepared for this job before; they are kept and not probed again.
    /// `alone`: no other job has GCDs on this node.
    preparation prepare(const preparation_request& request, const std::vector<granted_gcd>* granted, bool alone,
                        deadline until, const progress& say);

    /// Gives back what a job that has ended held.
    void release(uint32_t job) { activations_.release(job); }

    /// The node as it is now; discovered anew only when its devices have changed.
    result<std::shared_ptr<const node>> here(deadline until);

    [[nodiscard]] work_counters counters() const;

  private:
    /// Slurm's GPUs on this node; asked for anew only when its configuration or the devices have changed.
    result<std::shared_ptr<const gres_devices>> slurm_gpus(const preparation_request& request, deadline until);
    /// Finds the job's GCDs. False: the preparation ends here, as `made` says.
    bool grant(const preparation_request& request, const node& where, bool alone, deadline until, preparation& made);
    preparation probe(preparation made, const node& where, const std::vector<gcd_id>& bdfs, probe_level level,
                      held_means when_held, deadline until, const progress& say);

    const settings& site_;
    single_flight<node> discovered_;
    activations activations_;
    single_flight<gres_devices> slurm_gpus_;
    std::atomic<unsigned> probe_children_ = 0;

    // A GCD is probed by one preparation at a time.
    std::mutex probing_lock_;
    std::condition_variable probing_done_;
    std::set<gcd_id> probing_;
};

} // namespace amd_gpu
