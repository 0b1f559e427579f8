// GPUs as the compute driver sees them: /sys/class/kfd/kfd/topology (Linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
// Plain file reads that open no device. A value that is absent or no number is unknown; nothing is guessed.
#pragma once

#include "discovery/sysfs.hpp"
#include "node/node.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// One entry of io_links or p2p_links of a GPU node.
struct kfd_link {
    uint32_t to_node = 0;
    uint32_t type = 0;                    ///< Linux kfd_crat.h CRAT_IOLINK_TYPE_*: 2 PCIe, 11 xGMI
    std::optional<uint64_t> weight;       ///< 15 for each xGMI hop (Linux kfd_crat.c)
    std::optional<uint64_t> min_mb_per_s; ///< of one link
    std::optional<uint64_t> max_mb_per_s; ///< of all parallel links; 0 when the peer is not reached directly
};

/// A topology node with a GPU.
struct kfd_device {
    uint32_t node = 0;
    uint32_t gpu_id = 0;
    pci_address bdf;
    /// Known when several nodes share one PCI function: its location's bits where they tell the nodes apart, else the
    /// node's place among them.
    std::optional<uint32_t> partition;
    std::optional<target_id> target;           ///< xnack stays open: it is a mode of the process
    std::optional<bool> shared_virtual_memory; ///< capability of the node: a process may set its xnack mode
    std::optional<uint64_t> memory_bytes;
    std::optional<uint32_t> compute_units;
    std::optional<uint32_t> xccs; ///< num_xcc, from Linux 6.5 on
    std::optional<uint32_t> max_clock_mhz;
    std::optional<uint64_t> unique_id;
    std::optional<uint64_t> hive; ///< zero means no hive and is left unknown
    std::optional<uint32_t> render_minor;
    std::vector<kfd_link> links;
};

/// All GPU nodes in PCI order, partitions of one function in the order of their numbers.
struct kfd_topology {
    bool present = false;           ///< the driver's topology directory exists
    std::optional<int64_t> noretry; ///< parameter of the module amdgpu: -1, 0 or 1
    std::vector<kfd_device> devices;
    uint32_t hidden = 0;               ///< nodes that the device cgroup of this process hides (EPERM)
    std::vector<std::string> problems; ///< nodes that could not be understood, in words
};

inline constexpr uint32_t kfd_link_pcie = 2;
inline constexpr uint32_t kfd_link_xgmi = 11;

/// Reads the topology. Errors are in the answer: a node without GPUs and one without the driver are no failures here.
kfd_topology read_kfd(const sysfs& where);

/// The counter that the driver raises with every change of the topology; nothing without the driver.
std::optional<std::string> kfd_generation(const sysfs& where);

} // namespace amd_gpu
