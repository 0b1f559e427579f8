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

/// Probes some GCDs of a node at a level and compares with the site's floors.
probed probe_and_judge(const settings& site, const node& where, const std::vector<pci_address>& bdfs, probe_level level,
                       deadline until);

} // namespace amd_gpu
