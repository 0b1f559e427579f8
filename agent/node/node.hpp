// What a node is, as plain data: its GPU dies, the links between them and what does not add up. Filled by discovery,
// read by everything above it. It reads nothing itself and keeps every fact in three states: known, or unknown (an
// empty optional), and never invented.
#pragma once

#include "target/target.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// A PCI address. It and the partition number are what identifies a GCD; indices and cardN are run-time properties.
struct pci_address {
    uint32_t domain = 0;
    uint32_t bus = 0;
    uint32_t device = 0;
    uint32_t function = 0;

    auto operator<=>(const pci_address&) const = default;
    /// The address in KFD's and SMI's form: a domain, and bus << 8 | device << 3 | function in the low 16 bits of a
    /// number (Linux pci.h PCI_DEVID; rocm_smi.h rsmi_dev_pci_id_get). The higher bits are left to the caller.
    static pci_address from_id(uint64_t domain, uint64_t id);
    /// "0000:c1:00.0"
    [[nodiscard]] std::string text() const;
    /// Reads "0000:c1:00.0"; also without the domain, which is then 0. Nothing on other text.
    static std::optional<pci_address> parse(std::string_view text);
};

/// What a GCD is known by: its PCI function and, on a partitioned one, the number of its partition.
struct gcd_id {
    pci_address bdf;
    std::optional<uint32_t> partition;

    gcd_id() = default;
    gcd_id(const pci_address& function, std::optional<uint32_t> part = std::nullopt) // NOLINT: an address is an id
        : bdf(function)
        , partition(part) {}

    auto operator<=>(const gcd_id&) const = default;
    /// "0000:c1:00.0", or "0001:02:00.0/3" for the fourth partition.
    [[nodiscard]] std::string text() const;
    /// Reads both forms, the address also without the domain. Nothing on other text.
    static std::optional<gcd_id> parse(std::string_view text);
};

/// What sort of GPU it is, by its product and never by the size of its memory.
enum class gpu_kind {
    discrete,         ///< a card or module of its own
    apu,              ///< an accelerator with processor cores in its package (MI300A)
    integrated,       ///< the graphics unit of a desktop processor: display hardware, no place for a job
    virtual_function, ///< a share of a GPU, given to a guest
};

/// One schedulable GPU die or partition.
struct gcd {
    uint32_t index = 0; ///< position in BDF order on this node; for people, never a key
    pci_address bdf;
    std::optional<uint32_t> partition;        ///< number within its PCI function; unknown when that is not partitioned
    std::optional<uint64_t> unique_id;        ///< unknown when the driver gives none or zero
    std::optional<uint32_t> package;          ///< dies and partitions with the same number share a package (OAM)
    std::optional<gpu_kind> kind;             ///< unknown for products that are not in the table
    std::optional<target_id> target;          ///< processor and sramecc from KFD, without xnack: a mode of the process
    std::optional<bool> xnack;                ///< the mode of a process that does not choose (HSA_XNACK unset)
    std::optional<bool> xnack_selectable;     ///< a process may choose its mode by HSA_XNACK
    std::optional<std::string> model;         ///< "MI250X": by PCI device id and, where that is shared, number of CUs
    std::optional<std::string> product;       ///< the driver's name for it; for display only
    std::optional<uint32_t> pci_device;       ///< PCI device id, 0x7408
    std::optional<uint64_t> memory_bytes;     ///< local memory that it can allocate from (KFD mem_banks)
    std::optional<uint32_t> memory_shared_by; ///< so many partitions, itself included, allocate from that memory
    std::optional<uint64_t> vram_bytes;       ///< what the driver calls VRAM; a small carve-out on some APUs
    std::optional<std::string> compute_partition; ///< mode of its package: "SPX", "DPX", "TPX", "QPX", "CPX"
    std::optional<std::string> memory_partition;  ///< mode of its package: "NPS1", "NPS2", "NPS4", "NPS8"
    std::optional<uint32_t> compute_units;
    std::optional<uint32_t> xccs; ///< compute dies inside it
    std::optional<uint32_t> max_clock_mhz;
    std::optional<uint32_t> numa;         ///< NUMA node of the host's memory closest to it
    std::vector<uint32_t> cores;          ///< hardware threads (Linux CPU numbers) of its closest L3; empty is unknown
    std::optional<uint32_t> render_minor; ///< N of /dev/dri/renderD<N>
    std::optional<uint32_t> kfd_node;
    std::optional<uint32_t> kfd_gpu_id;
    std::optional<uint32_t> smi_index;
    std::optional<double> pcie_gt_per_s;         ///< speed of its PCIe link now, 10^9 transfers a second per lane
    std::optional<uint32_t> pcie_width;          ///< lanes of its PCIe link now
    std::optional<uint64_t> hive;                ///< xGMI hive; unknown when it is in none
    std::optional<std::string> vbios;            ///< version of its video BIOS
    std::map<std::string, std::string> firmware; ///< "mec" -> "0x0000004e", those that are loaded; may be empty
    bool bound = false;                          ///< amdgpu is bound to the PCI function and KFD knows it

    /// Where each fact above came from: field name -> "kfd: topology/nodes/4/properties gfx_target_version".
    std::map<std::string, std::string> sources;

    [[nodiscard]] gcd_id id() const { return {bdf, partition}; }
    /// The target in which a process that does not choose an xnack mode runs: "gfx90a:sramecc+:xnack-".
    [[nodiscard]] std::optional<target_id> default_target() const;
};

/// A direct link between two GCDs, one direction.
struct link {
    uint32_t from = 0; ///< index of a gcd
    uint32_t to = 0;
    std::string type;               ///< "xgmi" or "pcie"
    std::optional<uint32_t> links;  ///< how many xGMI links run in parallel
    std::optional<double> gb_per_s; ///< peak of all of them together in one direction, 1e9 bytes/s
};

/// Something about the node that an administrator should know.
struct finding {
    enum class severity { note, warning, fault };
    severity level = severity::note;
    std::string check;              ///< "gpu_count", "driver"
    std::optional<pci_address> bdf; ///< the device, when it is about one
    std::string text;               ///< one line: what was seen, what was expected, what to do
};

/// How many GPUs each source sees. Unknown: the source could not be asked.
struct source_counts {
    std::optional<uint32_t> pci;
    std::optional<uint32_t> kfd;
    std::optional<uint32_t> smi;
};

/// A node as discovery found it.
struct node {
    std::string name;
    std::string boot_id;
    source_counts sources;
    std::vector<gcd> gcds; ///< in BDF order; includes those that are on PCI but not bound
    std::vector<link> links;
    std::vector<finding> findings;
    std::map<std::string, std::string> versions; ///< "kernel", "driver", "smi"
};

/// The GCD with an id, or null.
const gcd* find_gcd(const node& where, const gcd_id& id);

/// Where a GCD stands in the runtime's list of all devices of the node, which is in the order of KFD's nodes
/// (libhsakmt, topology.c). Unknown when KFD does not have it.
std::optional<uint32_t> runtime_position(const node& where, const gcd& die);

/// The link from one GCD to another, or null when there is no direct one.
const link* find_link(const node& where, uint32_t from, uint32_t to);

/// "note", "warning" or "fault".
std::string_view text_of(finding::severity level);
/// "gpu", "apu", "integrated" or "vf".
std::string_view text_of(gpu_kind kind);

} // namespace amd_gpu
