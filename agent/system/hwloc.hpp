// hwloc's topology of the whole machine, without the back ends that would load GPU libraries into this process.
#pragma once

#include "result.hpp"

#include <hwloc.h>
#include <memory>
#include <string>

namespace amd_gpu {

using topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

/// Reads this machine's topology, or that of `xml` (hwloc's own format): also the CPUs that this process may not use,
/// and the PCI devices that matter. Error: hwloc cannot load it.
result<topology> load_topology(const std::string& xml = {});

} // namespace amd_gpu
