// The writers of a node's files, one per part of the kernel that would print them. Paths are relative to the root of
// the simulated node ("sys/...", "proc/..."). Each writer owns its part of the tree and nothing else.
#pragma once

#include "tests/sim/node/identity.hpp"
#include "tests/sim/node/sandbox.hpp"
#include "tests/sim/node/tree.hpp"

namespace sim {

/// /sys/devices/system/{cpu,node}, /proc/cpuinfo and /proc/meminfo.
void write_processors(tree& out, const processors& cpu);

/// One PCI function with the bridges above it and their entries in /sys/bus/pci.
void write_pci(tree& out, const pci_function& function, const processors& cpu);

/// What amdgpu shows of its GPUs: attributes of the PCI devices, hwmon, RAS, gpu_metrics, DRM's and the module's
/// entries.
void write_gpus(tree& out, const placed_node& node);

/// /sys/class/kfd with its topology and its directory of processes.
void write_kfd(tree& out, const placed_node& node);

/// All of the node; returns the first failure.
status write_node(const std::string& root, const placed_node& node);

/// The same for a sandbox. The node must outlive it.
node_view view_of(const placed_node& node);

} // namespace sim
