// Probes GCDs until there is a verdict worth acting on: a GCD that something else uses is left alone, and one that was
// slow gets a second and a third chance before it is blamed.
#pragma once

#include "configuration/settings.hpp"
#include "health/verdict.hpp"

#include <vector>

namespace amd_gpu {

struct probed {
    std::vector<check_result> checks;
    unsigned children = 0; ///< probe processes that were started
};

/// What it means when something else uses a GCD that is to be probed (which is then left alone in any case).
enum class held_means {
    nothing,    ///< it may be the job itself
    not_probed, ///< the GCD could not be tested as it should have been
};

/// Probes some GCDs of a node at a level and compares with the site's floors. Waits a little for whoever is just
/// leaving; the probes then have the site's probe_deadline, or what is left until `until`.
probed probe_and_judge(const settings& site, const node& where, const std::vector<gcd_id>& bdfs, probe_level level,
                       held_means when_held, deadline until);

} // namespace amd_gpu
