// A model of a node, read from tests/sim/models/NAME.toml: everything about processor, GPUs and links that the files of
// a Linux node are made of. It owns the reading and checking of that format; it writes nothing and knows no path in
// /sys.
//
// A model may start from another (`base = "NAME"`): tables are merged, every other value is replaced. A product may do
// the same within a model. `faults = [...]` holds lines of a fault file, so that a broken node is a model too.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sim {

using amd_gpu::error;
using amd_gpu::error_code;
using amd_gpu::result;
using amd_gpu::status;
using amd_gpu::success;

using numbers = std::map<std::string, std::int64_t>;
using texts = std::map<std::string, std::string>;

/// The processors: packages, NUMA nodes, last-level caches and cores, all alike and numbered one after the other.
struct processors {
    std::string vendor, model_name;
    int family = 0, model = 0, stepping = 0, mhz = 0;
    int packages = 1, numa_per_package = 1, l3_per_numa = 1, cores_per_l3 = 1, threads_per_core = 1;
    int l1d_kib = 0, l1i_kib = 0, l2_kib = 0, l3_kib = 0;
    std::int64_t memory_kib_per_numa = 0;
    int distance_within_package = 0, distance_between_packages = 0;
    int memory_only_numa = 0; ///< NUMA nodes without a CPU, numbered after the others

    [[nodiscard]] int numa_nodes() const { return packages * numa_per_package; }
    [[nodiscard]] int cores_per_numa() const { return l3_per_numa * cores_per_l3; }
    [[nodiscard]] int cores() const { return numa_nodes() * cores_per_numa(); }
    [[nodiscard]] int cpus() const { return cores() * threads_per_core; }
    /// Every CPU of the COUNT cores from FIRST on, ascending: the threads of a core lie cores() apart.
    [[nodiscard]] std::vector<int> cpus_of_cores(int first, int count) const;
};

/// A PCI function and the bridges above it, outermost first; BDFs as "dddd:bb:dd.f".
struct pci_function {
    std::string bdf;
    std::vector<std::string> bridges;
    int numa = -1;
    std::uint32_t vendor = 0, device = 0, subsystem_vendor = 0, subsystem_device = 0, revision = 0, class_code = 0;
    double link_gt_s = 16;
    int link_width = 16;
    int link_width_now = 16;
    std::string driver;  ///< empty: none is bound
    std::string network; ///< name of its network interface, or empty
};

/// The way from a GPU to the memory of its NUMA node, as in KFD's io_links (Linux kfd_crat.h: type 2 PCIe, 11 xGMI).
struct cpu_link {
    int type = 2, weight = 20;
    std::int64_t min_mb_s = 312, max_mb_s = 32000;
};

/// One GPU as the driver shows it. Whatever a file holds that does not follow from the rest is in `kfd` (lines of KFD's
/// properties), `metrics` (fields of gpu_metrics) and `files` (attribute files by path below the PCI device).
struct gcd {
    pci_function pci;
    int package = 0;
    std::string kfd_name;
    std::int64_t vram_bytes = 0, vram_used_bytes = 0, gtt_bytes = 0;
    std::int64_t memory_width = 0, memory_mhz = 0, l1_kib = 0, l2_kib = 0;
    sim::cpu_link cpu_link;
    numbers kfd, metrics;
    texts files;
    std::vector<std::string> remove; ///< files and directories, below the PCI device, that this GPU lacks
    bool missing = false;            ///< only the PCI function is left: the driver failed on it
    std::int64_t ghost_bytes = 0;    ///< memory held by a process that no longer exists
    /// Modes of the package ("SPX", "NPS1"); empty: a GPU that knows no partitions.
    std::string compute_partition, memory_partition;
    int partition = 0;  ///< number of this partition on its PCI function
    int partitions = 1; ///< of the PCI function
    std::int64_t function_vram_bytes = 0, function_vram_used_bytes = 0; ///< of all its partitions together
};

/// A node.
struct model {
    std::string name, description;
    sim::processors processors;
    std::vector<gcd> gcds; ///< in the order of the driver's cards
    std::vector<pci_function> pci;
    std::vector<std::vector<int>> links; ///< xGMI links between gcds[i] and gcds[j]; -1: the pair has no route at all
    std::int64_t mb_s_per_link = 0;
    int weight_per_hop = 15;
    texts files;                                 ///< files of the node by path below /, without the leading slash
    std::vector<std::string> remove;             ///< likewise, files and directories that this node lacks
    std::map<std::string, std::string> symlinks; ///< symbolic links of the node and what they point to, both below /
    std::vector<int> skip_cards, skip_kfd_nodes; ///< numbers that the kernel has given to something else
    std::string faults;                          ///< text of a fault file
    std::string source;                          ///< the whole model, bases merged in, as TOML
};

/// Puts one entry for each partition in the place of every GPU whose compute mode has several.
status expand_partitions(model& m);

/// Names of the models in DIRECTORY, sorted.
result<std::vector<std::string>> model_names(const std::string& directory);

/// Reads the model NAME from DIRECTORY; a NAME with a slash is the path of a model file whose bases are in DIRECTORY.
/// Unknown keys and wrong types are errors that name file and key.
result<model> read_model(const std::string& directory, const std::string& name);

} // namespace sim
