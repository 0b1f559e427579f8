// From measurements to a verdict: what each probe run means for its GCD, and what all of them mean for the job and the
// node. Pure; the rules are here and nowhere else.
#pragma once

#include "outcome.hpp"
#include "probing/floors.hpp"
#include "probing/prober.hpp"

#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// One check of one device against what is expected of it.
struct check_result {
    enum class state {
        pass,
        warn,
        fail,          ///< the device is bad
        unsupported,   ///< nothing to compare with: no floor for this device
        could_not_run, ///< the check says nothing about the device
    };
    std::string check; ///< "hbm_copy", "link", "probe"
    gcd_id bdf;
    std::optional<gcd_id> peer; ///< the other end, for links
    state how = state::pass;
    std::optional<double> measured;
    std::optional<double> floor;
    std::string unit;
    std::string evidence; ///< what happened, when it was no comparison: "hung in hbm_copy"
};

std::string_view text_of(check_result::state state);
/// "0000:c9:00.0 hbm_copy 695<1147 GB/s": device, check, measured against expected.
std::string text_of(const check_result& check);

/// What one probe run says about its GCDs.
std::vector<check_result> assess(const probe_run& run, const node& where, const floor_table& floors);

/// GCDs whose numbers are below a floor: worth another run before anybody is blamed. Wrong contents, errors and hangs
/// are not among them: those need no second opinion.
std::vector<gcd_id> below_floor(const std::vector<check_result>& checks);

/// Two runs that were below a floor agree against one that was not: keeps a failure only where at least two of the
/// three rounds failed on the same device and check. Takes one list of checks a round.
std::vector<check_result> two_of_three(const std::vector<std::vector<check_result>>& rounds);

struct verdict {
    outcome how = outcome::ready;
    std::string message; ///< one line for the user; empty when ready
    std::string reason;  ///< node fault: what Slurm's node reason says, ASCII, at most 200 bytes, without user text
};

/// Folds all checks into one verdict: a failure makes a node fault, else a check that could not run a service fault.
verdict fold(const std::vector<check_result>& checks);

/// A reason for Slurm: "amd-gpu: " and the text, one line of printable ASCII, cut to 200 bytes.
std::string node_reason(std::string_view text);

} // namespace amd_gpu
