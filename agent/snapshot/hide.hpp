// Serial numbers and unique ids of GPUs, replaced in the files of a node. Pure.
#pragma once

#include "snapshot/collect.hpp"

namespace amd_gpu {

/// Replaces serial numbers, unique ids and ids of xGMI hives by numbers that count up: the same one everywhere the same
/// id stands, hexadecimal in sysfs and decimal in KFD's properties, and another for another. What stands for "none"
/// (zero, all-ones, "N/A") stays, and so does a file that is no id at all.
void hide_serials(node_files& files);

} // namespace amd_gpu
