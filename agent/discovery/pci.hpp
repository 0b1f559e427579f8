// GPUs as the bus sees them: /sys/bus/pci/devices, whether or not a driver is bound. Reads sysfs attributes only, never
// the configuration space, and leaves out other vendors' cards and the consoles of server boards.
#pragma once

#include "discovery/sysfs.hpp"
#include "node/node.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// An AMD display controller or accelerator.
struct pci_gpu {
    pci_address bdf;
    std::optional<uint32_t> device;    ///< 0x7408
    std::optional<std::string> driver; ///< "amdgpu"; nothing when none is bound
    bool virtual_function = false;     ///< a share of another function of this host (link physfn)
    std::optional<uint32_t> numa;      ///< unknown when the firmware does not tell (-1)
    std::optional<uint64_t> unique_id;
    std::optional<std::string> product;
    std::optional<std::string> serial;
    std::optional<uint32_t> render_minor;
    std::optional<uint64_t> vram_bytes;           ///< mem_info_vram_total
    std::optional<std::string> vbios;             ///< vbios_version
    std::optional<std::string> compute_partition; ///< current_compute_partition; an odd mode is unknown
    std::optional<std::string> memory_partition;  ///< current_memory_partition, likewise
    std::map<std::string, std::string> firmware;  ///< fw_version: "mec" -> "0x0000004e", without those that read zero
    std::optional<pci_address> slot_port; ///< port of a switch on the board that faces the slot; nothing without one
    std::optional<double> gt_per_s;       ///< current_link_speed of that port, or of the function itself
    std::optional<uint32_t> width;        ///< current_link_width, likewise
};

struct pci_view {
    bool readable = false;     ///< the bus could be listed
    std::vector<pci_gpu> gpus; ///< in PCI order
};

/// Lists the AMD GPUs on the bus with what the driver says of them.
pci_view read_pci(const sysfs& where);

/// The PCI functions of read_pci with their drivers and partition modes, "0000:c1:00.0=amdgpu/SPX/NPS1 ...": the part
/// that tells one state of the bus from another, without the rest.
std::string pci_summary(const sysfs& where);

} // namespace amd_gpu
