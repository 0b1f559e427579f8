// Where the sources disagree and what a node lacks, as findings. Pure. It judges nothing: whether a finding takes the
// node out of service is decided elsewhere.
#pragma once

#include "discovery/driver.hpp"
#include "discovery/kernel_log.hpp"
#include "discovery/merge.hpp"

#include <optional>
#include <set>
#include <vector>

namespace amd_gpu {

/// Everything the readers brought.
struct observations {
    pci_view pci;
    kfd_topology kfd;
    std::set<pci_address> integrated;              ///< left out of the two above
    std::optional<smi_answer> smi;                 ///< nothing when there was nothing to ask for
    std::optional<result<locality_view>> locality; ///< likewise
    std::vector<std::string> smi_locks;            ///< files of SMI's locks, when it did not answer
    driver_state driver;
    probe_errors refusals; ///< read when a function has no driver
};

/// How many GPUs each source sees; integrated ones are not counted anywhere. A source that could not be asked is
/// unknown.
source_counts count_gpus(const observations& seen);

/// What an administrator should know, faults first. `found` holds the joined GCDs, their links and the findings so far;
/// `expected` is the site's number of GCDs.
std::vector<finding> compare(const observations& seen, const node& found, std::optional<uint32_t> expected);

/// Unique ids that several GCDs carry identify nothing: clears them. A finding for each id that several GPUs have.
std::vector<finding> clear_shared_ids(std::vector<gcd>& gcds);

} // namespace amd_gpu
