// The GPUs of the node as a HIP runtime finds them: from KFD's topology in /sys, in its order, with what opening their
// render nodes allows and what the usual variables leave visible. Reads only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sim::hip {

/// One GPU node of KFD (Linux kfd_topology.h).
struct gpu {
    int node = -1; ///< number of its KFD node
    int gcd = -1;  ///< number in PCI order among all GPUs of the node, also those that no driver claimed
    std::string bdf;
    std::string name;      ///< "AMD Instinct ..." or what the driver has
    std::string processor; ///< "gfx90a"
    bool sramecc = false;
    std::uint64_t gpu_id = 0;
    std::uint64_t unique_id = 0;
    std::uint64_t memory = 0; ///< bytes
    int compute_units = 0;
    int wave_size = 64;
    int clock_khz = 0;
    int memory_clock_khz = 0;
    int memory_width = 0;
    int render_minor = -1;

    /// "gfx90a:sramecc+:xnack-"
    [[nodiscard]] std::string target() const;
    /// Major, minor and stepping of the processor: 9, 0, 10 of gfx90a.
    int major = 0, minor = 0, stepping = 0;
};

/// A link between two GPU nodes, by their KFD node numbers.
struct link {
    int from;
    int to;
    bool xgmi;
    std::uint64_t mb_s; ///< 0: there is no direct link, the pair is routed
};

struct topology {
    std::vector<gpu> gpus; ///< every GPU node, in KFD order
    std::vector<link> links;
};

topology read_topology();

/// The GPUs of ALL that this process may open and that ROCR_VISIBLE_DEVICES, then HIP_VISIBLE_DEVICES (or, if that is
/// empty, CUDA_VISIBLE_DEVICES) leave, in the order they ask for.
std::vector<gpu> visible(const std::vector<gpu>& all);

/// Applies one such variable: indices, or with UUIDS also "GPU-<16 hex>"; reading stops at the first token that names
/// nothing or repeats. Nothing set: all.
std::vector<gpu> apply_mask(const std::vector<gpu>& all, const char* mask, bool uuids);

/// Reads "key value" lines.
std::map<std::string, std::uint64_t> read_properties(const std::string& path);

} // namespace sim::hip
