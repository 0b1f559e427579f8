// What the plugin asks of the agent and what it gets back, as plain data, with the pair of conversions to and from a
// message. Both sides use it, so that a field has one name. Nothing but the standard library.
#pragma once

#include "environment/edits.hpp"
#include "outcome.hpp"
#include "service/protocol.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// Slurm's step id of a batch script (SLURM_BATCH_SCRIPT in slurm.h).
inline constexpr uint32_t batch_step = 0xfffffffbU;

/// A job that wants its GCDs prepared on this node.
struct preparation_request {
    uint32_t job = 0;
    std::optional<uint32_t> step; ///< which step asks; empty in the prolog
    uint32_t uid = 0;
    uint32_t restarts = 0;          ///< how often the job has been requeued
    bool within_allocation = false; ///< the step's srun ran inside an allocation of its own (salloc, batch script)
    std::string node;               ///< Slurm's name of this node
    std::string slurm_conf;         ///< the slurm.conf in force; empty is Slurm's default
    bool attach_only = false;       ///< only a preparation that exists is wanted
    /// A late preparation: N of the /dev/dri/renderD<N> that the step's device cgroup lets it open. What the user's
    /// environment says can be forged; this cannot.
    std::optional<std::vector<uint32_t>> render_minors;
    /// Indices of the job's GPUs in the order of Slurm's gres files; empty when Slurm gave the job none.
    std::optional<std::vector<uint32_t>> gpus;
    // The option, as it was parsed and checked:
    std::vector<std::string> targets; ///< accept only these; empty is auto
    std::string environment;          ///< empty: the site's default
    std::string probe;                ///< empty: the site's default; so for the next two
    std::string mask;
    std::string bind;
    bool verbose = false;
    uint32_t limit_ms = 0;       ///< the asker waits so long
    bool only_with_gpus = false; ///< nobody asked for it (a site's default): a job without GPUs is none of our business
    bool by_hand = false;        ///< an administrator tries it: whatever comes of it, Slurm is not told

    bool operator==(const preparation_request&) const = default;
};

/// One GCD of the job.
struct granted_gcd {
    uint32_t index = 0;                   ///< in BDF order on the node; for people
    std::optional<uint32_t> slurm_index;  ///< in the order of Slurm's gres files; unknown when slurmd does not tell
    std::string bdf;                      ///< "0000:c1:00.0", "0000:c1:00.0/3" for a partition
    std::string unique_id;                ///< 16 hexadecimal digits; empty when the driver gives none
    std::optional<uint32_t> render_minor; ///< N of /dev/dri/renderD<N>
    std::string target;                   ///< "gfx90a:sramecc+"
    std::vector<uint32_t> cores;          ///< Linux CPU numbers of its closest L3; empty is unknown
    std::optional<uint32_t> numa;         ///< NUMA node of the host
    std::optional<uint32_t> position;     ///< in the runtime's list of all devices of the node

    bool operator==(const granted_gcd&) const = default;
};

/// A directory of this node that the tasks of a step see at a fixed place, read-only.
struct mount_request {
    std::string source; ///< absolute, without white space; so is the target, which exists
    std::string target;

    bool operator==(const mount_request&) const = default;
};

/// The agent's answer.
struct preparation_reply {
    outcome how = outcome::ready;
    std::string message;      ///< one line for the user; empty when all is well
    bool run_anyway = false;  ///< a service fault that the site lets jobs run through
    bool absent = false;      ///< attach_only, and there is none
    bool fail_prolog = false; ///< the only way to end this job is to fail its prolog
    std::string node;         ///< the name under which Slurm knows this node
    std::string mask;         ///< none, job or rank
    std::string bind;         ///< none or closest
    std::vector<granted_gcd> gcds;
    std::vector<edit> edits;
    std::vector<mount_request> mounts;
    /// PARENT/JOBID/KEY: caches of this job on this node for software of that key; empty: none. The parent exists.
    std::string cache;
    std::vector<std::string> report; ///< what was found and done, for `verbose`

    bool operator==(const preparation_reply&) const = default;
};

message to_message(const preparation_request& request);
message to_message(const preparation_reply& reply);
/// Errors (peer): a field is missing or malformed; another version than protocol_version +- 1.
result<preparation_request> to_request(const message& from);
result<preparation_reply> to_reply(const message& from);

} // namespace amd_gpu
