// The private view of a simulated node: a mount namespace in which /sys, /dev, /run, /etc and a few files of /proc are
// the node's own. It owns every mount; all of them live on tmpfs inside the namespace, so that nothing of the host is
// touched and nothing is left when the last process ends, however it ends.
#pragma once

#include "result.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sim {

using amd_gpu::error;
using amd_gpu::error_code;
using amd_gpu::result;
using amd_gpu::status;
using amd_gpu::success;

/// What a node is to whoever looks at it, wherever its files come from.
struct node_view {
    std::string model;            ///< text of its model, for the simulated HIP runtime; empty: there is none
    std::vector<int> cpus, numa;  ///< numbers of its CPUs, and of the NUMA nodes that have some
    std::vector<std::string> drm; ///< names in /dev/dri: "card0", "renderD128"
    bool kfd = false;             ///< it has /dev/kfd
    std::function<status(const std::string& root)> write; ///< writes sys/ and proc/ below ROOT
};

struct sandbox {
    std::string faults;      ///< text of the fault file
    std::string hostname;    ///< empty: the host's name and UTS namespace stay
    std::string cgroup_root; ///< empty: the host's control groups stay as they are
    std::string hip;         ///< contents of the simulated libamdhip64; empty: the host's library stays
    std::string preload;     ///< contents of the preload library; empty: none
    std::vector<std::pair<std::string, std::string>> binds; ///< source, destination
};

/// Puts the calling process on the simulated node. Needs root. On failure the process is left in a half-made namespace
/// and should end.
status enter(const sandbox& plan, const node_view& node);

} // namespace sim
