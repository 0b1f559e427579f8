// What the kernel's log says about GPUs that the driver did not take: a hint for people and never a proof, because the
// log is a ring that forgets and is not readable for everyone.
#pragma once

#include "discovery/sysfs.hpp"
#include "node/node.hpp"

#include <map>
#include <string>
#include <string_view>

namespace amd_gpu {

/// The error numbers (positive, as in errno.h) with which the driver amdgpu last gave up functions.
using probe_errors = std::map<pci_address, int>;

/// Finds them in text of the log. Takes what drivers/base/dd.c writes: "amdgpu 0000:c1:00.0: probe with driver amdgpu
/// failed with error -12", and "amdgpu: probe of 0000:c1:00.0 failed with error -12" before Linux 6.11.
probe_errors parse_probe_errors(std::string_view text);

/// Reads the log, without ever waiting for more of it. Empty when it cannot be read.
probe_errors read_probe_errors(const sysfs& where);

/// "error -12 (Cannot allocate memory)"
std::string probe_error_text(int number);

} // namespace amd_gpu
