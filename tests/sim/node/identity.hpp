// What the kernel numbers by itself on a node: card and render minors, KFD nodes, ids. It owns these derivations, so
// that every writer of files agrees about them; it writes nothing.
#pragma once

#include "tests/sim/node/model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// Character device majors of the node: LOCAL/EXPERIMENTAL numbers (Linux devices.txt) that no driver owns, so that a
/// device node can be made and put into a cgroup's list but never reaches hardware.
constexpr unsigned drm_major = 120;
constexpr unsigned kfd_major = 121;
constexpr int first_render_minor = 128;

/// A GPU that the driver has accepted.
struct placed_gcd {
    const gcd* what = nullptr;
    std::size_t index = 0; ///< in model::gcds
    int card = 0;
    int render_minor = 0;
    int kfd_node = 0;
    unsigned gpu_id = 0; ///< KFD's number for it, not 0
    std::uint64_t unique_id = 0;
    std::uint64_t hive_id = 0; ///< 0: in no hive
    std::string serial;        ///< of its package
    std::string device;        ///< its PCI directory, relative to /
    std::string drm;           ///< directory of the device that has its card and render node, relative to /
};

/// A DRM device that the driver makes for a partition which the present mode does not have: MI300's driver makes all
/// eight at start (Linux amdgpu_xcp.c, amdgpu_xcp_dev_alloc).
struct idle_drm {
    int card = 0;
    int render_minor = 0;
    std::string device; ///< directory, relative to /
};

/// A model with one node's numbers: the ids follow from the model's name and SALT, so that nodes differ and a node that
/// is started again does not.
struct placed_node {
    const sim::model* model = nullptr;
    std::vector<placed_gcd> gcds;
    std::vector<idle_drm> idle;
};
placed_node place(const model& model, const std::string& salt);

/// Hops over xGMI between two GPUs of the node: 0 for itself, -1 when there is no way.
int hops(const placed_node& node, const placed_gcd& from, const placed_gcd& to);

/// The directory of a PCI function below its bridges, relative to /.
std::string pci_directory(const pci_function& function);

} // namespace sim
