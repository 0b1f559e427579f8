// Which GCD Slurm means by an index. Slurm counts the GPUs of a node in the order in which it read gres.conf, or found
// them by itself, and that need not be the order of anything else: so slurmd is asked, and nothing is guessed.
#pragma once

#include "configuration/settings.hpp"
#include "discovery/sysfs.hpp"
#include "node/node.hpp"
#include "system/deadline.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// The device files of each GPU that Slurm knows on a node, in the order of its indices. A GPU that is only counted,
/// not named by a file, has none.
using gres_devices = std::vector<std::vector<std::string>>;

/// Reads what `slurmd -G` prints. Error (peer): a device list that cannot be understood.
result<gres_devices> parse_gres_devices(std::string_view text);

/// Asks slurmd for the GPUs of `node` as its configuration names them; a child with a deadline, some 100 ms. Errors:
/// not_found (no such program), timed_out, peer (slurmd does not accept its configuration).
result<gres_devices> ask_slurmd(const settings& site, const std::string& node, const std::string& slurm_conf,
                                deadline until);

/// A fingerprint of what slurmd reads to answer: the configuration files beside slurm.conf.
std::string gres_state(const settings& site, const std::string& slurm_conf);

/// The GCD behind each of Slurm's GPUs, by its render node or, where only that is named, its card; null where the files
/// belong to no GCD of this node (another vendor's GPU).
std::vector<const gcd*> gcds_of(const gres_devices& devices, const node& where, const sysfs& files = {});

} // namespace amd_gpu
