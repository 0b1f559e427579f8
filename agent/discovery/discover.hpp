// Discovery: what GPUs this node has and where they are. It runs the readers and puts their answers together; a source
// that fails makes its own facts unknown and a finding, never the others.
#pragma once

#include "configuration/settings.hpp"
#include "discovery/sysfs.hpp"
#include "node/node.hpp"
#include "system/deadline.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// Looks at the node. Takes some 50 ms, most of it rocm_smi's start in its child; a child that hangs costs half of the
/// time that is left and never more. Error: not_found when there is no sysfs to read. `reader` replaces the command
/// line of the rocm_smi reader; empty means this program itself.
result<node> discover(const settings& site, deadline until, const sysfs& where = {},
                      const std::vector<std::string>& reader = {});

/// A fingerprint of everything whose change makes an earlier discovery stale: boot, the driver's start, KFD's counter
/// of changes, the PCI functions with their drivers and partition modes. Costs a few small file reads.
std::string topology_generation(const sysfs& where = {});

} // namespace amd_gpu
