// Runs probe children on GCDs: one child for each GCD, all at once, and one more for the links between them. It
// collects what they say; whether it is good enough is for health/ to judge. No GPU library is ever loaded here.
#pragma once

#include "configuration/settings.hpp"
#include "probing/measurement.hpp"
#include "system/process.hpp"

#include <functional>
#include <map>

namespace amd_gpu {

/// How a probe child ended beside what it said.
struct probe_run {
    std::vector<gcd_id> bdfs; ///< one GCD, or all of the pairs
    probe_report report;
    std::optional<child_result> ended;   ///< empty: it could not be started
    std::chrono::milliseconds budget{0}; ///< how much time it was given
    bool no_time = false;                ///< so little was left that it was not started
    std::string trouble;                 ///< why it could not be started, or what it printed that nobody understands
};

/// What to probe.
struct probe_plan {
    std::vector<gcd_id> gcds;
    std::vector<std::string> probes; ///< for each GCD: "hbm_copy", ...
    bool links = false;              ///< also every pair of them
};

/// The probes of a level, mild ones first.
probe_plan plan_for(probe_level level, const std::vector<gcd_id>& gcds);

/// Runs a plan on a node. The children run as settings.probe_user with a clean environment, bound by the deadline;
/// after the GCDs come the links, in what is left of the time. One run a GCD in plan order, then one for the links when
/// asked for.
std::vector<probe_run> run_probes(const settings& site, const node& where, const probe_plan& plan, deadline until);

/// Where amd-gpu-probe is: the configured path, else beside this program, else in ../libexec.
std::string probe_program(const settings& site);

/// Processes other than ours that have a GCD open, from KFD's list of processes ("pid 4711"); empty when it is free.
std::vector<std::string> users_of(const gcd& die, const std::string& sysfs = "/sys");

} // namespace amd_gpu
