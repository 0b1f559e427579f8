#include "system/hwloc.hpp"

#include <cstdlib>

namespace amd_gpu {
namespace {

/// hwloc loads every plugin it finds as soon as a topology is made, and plugins for GPUs bring their libraries along.
/// What is needed here is built into hwloc itself, so its search path is emptied; before main, while there is one
/// thread.
[[maybe_unused]] const int plugins_off = ::setenv("HWLOC_PLUGINS_PATH", "", 1);

/// The GPU back ends, should they be built into hwloc; and x86, which asks the processor it runs on by instructions
/// where the kernel's files already say all.
constexpr auto unwanted = {"x86", "opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"};

} // namespace

result<topology> load_topology(const std::string& xml) {
    const auto failed = [] { return error{error_code::internal, "hwloc cannot read the topology of this machine"}; };
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0)
        return failed();
    topology loaded(raw, &hwloc_topology_destroy);
    for (const char* name : unwanted)
        hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
    // The agent itself may be confined to a few cores, which says nothing about where a job's cores are.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (!xml.empty() && hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0) {
        return failed();
    }
    if (hwloc_topology_load(raw) != 0)
        return failed();
    return loaded;
}

} // namespace amd_gpu
