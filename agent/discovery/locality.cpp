#include "discovery/locality.hpp"

#include "ranges.hpp"
#include "system/hwloc.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace amd_gpu {
namespace {

std::vector<uint32_t> threads_of(hwloc_const_cpuset_t set) {
    std::vector<uint32_t> threads;
    for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
        threads.push_back(static_cast<uint32_t>(cpu));
    }
    return threads;
}

/// The NUMA node that a query's PCI function is attached to, or null; contradictions go to `problems`. Memories without
/// cores (there are nodes with dozens of them) are no place to be.
hwloc_obj_t numa_of(hwloc_topology_t where, const locality_query& query, std::vector<std::string>& problems) {
    const hwloc_obj_t device =
        hwloc_get_pcidev_by_busid(where, query.bdf.domain, query.bdf.bus, query.bdf.device, query.bdf.function);
    const hwloc_obj_t beside = device == nullptr ? nullptr : hwloc_get_non_io_ancestor_obj(where, device);
    if (beside == nullptr || beside->cpuset == nullptr)
        return nullptr;

    std::vector<hwloc_obj_t> nodes;
    std::size_t with_cores = 0;
    for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(where, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        with_cores += hwloc_bitmap_iszero(node->cpuset) == 0 ? 1 : 0;
        if (hwloc_bitmap_intersects(node->cpuset, beside->cpuset) != 0)
            nodes.push_back(node);
    }
    // Where PCI says -1, the bridges above may name a node all the same; only a machine of one node leaves no doubt.
    if (!query.numa)
        return with_cores == 1 && nodes.size() == 1 ? nodes.front() : nullptr;

    const auto named =
        std::find_if(nodes.begin(), nodes.end(), [&](hwloc_obj_t node) { return node->os_index == *query.numa; });
    if (named != nodes.end())
        return *named;
    problems.push_back(fmt::format("{}: PCI says NUMA node {}, but its local cores are {}; its place is unknown",
                                   query.bdf.text(), *query.numa, ranges_text(threads_of(beside->cpuset))));
    return nullptr;
}

/// The L3 caches of a NUMA node, each as its hardware threads; the whole node when it has none.
std::vector<cache_threads> caches_of(hwloc_topology_t where, hwloc_obj_t numa) {
    std::vector<cache_threads> caches;
    hwloc_obj_t cache = nullptr;
    while ((cache = hwloc_get_next_obj_inside_cpuset_by_type(where, numa->cpuset, HWLOC_OBJ_L3CACHE, cache)) !=
           nullptr) {
        caches.push_back(threads_of(cache->cpuset));
    }
    if (caches.empty())
        caches.push_back(threads_of(numa->cpuset));
    return caches;
}

std::vector<uint32_t> joined(const std::vector<cache_threads>& caches) {
    std::vector<uint32_t> threads;
    for (const auto& cache : caches)
        threads.insert(threads.end(), cache.begin(), cache.end());
    std::sort(threads.begin(), threads.end());
    return threads;
}

} // namespace

std::vector<std::vector<cache_threads>> share_caches(const std::vector<cache_threads>& caches, std::size_t members) {
    std::vector<std::vector<cache_threads>> shares(members);
    if (caches.empty())
        return shares;
    for (std::size_t member = 0; member < members; ++member) {
        const std::size_t first = member * caches.size() / members;
        const std::size_t last = std::max(first + 1, (member + 1) * caches.size() / members);
        shares[member].assign(caches.begin() + static_cast<std::ptrdiff_t>(first),
                              caches.begin() + static_cast<std::ptrdiff_t>(last));
    }
    return shares;
}

result<locality_view> read_locality(const std::vector<locality_query>& queries, const std::string& xml) {
    const auto loaded = load_topology(xml);
    if (!loaded)
        return loaded.failure();
    const hwloc_topology_t where = loaded->get();

    locality_view view;
    view.version = HWLOC_VERSION;
    view.places.resize(queries.size());
    std::map<hwloc_obj_t, std::map<pci_address, std::vector<std::size_t>>> members; // places by NUMA node and function
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const hwloc_obj_t numa = numa_of(where, queries[i], view.problems);
        if (numa == nullptr)
            continue;
        view.places[i].numa = numa->os_index;
        // A device that names no NUMA node may sit anywhere in the only one: no cache is closer than another.
        if (queries[i].numa)
            members[numa][queries[i].bdf].push_back(i);
    }
    for (const auto& [numa, functions] : members) {
        const auto shares = share_caches(caches_of(where, numa), functions.size());
        for (std::size_t function = 0; const auto& [bdf, partitions] : functions) {
            const auto parts = share_caches(shares[function++], partitions.size());
            for (std::size_t part = 0; part < parts.size(); ++part)
                view.places[partitions[part]].cores = joined(parts[part]);
        }
    }
    return view;
}

} // namespace amd_gpu
