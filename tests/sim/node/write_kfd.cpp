// KFD's topology as amdkfd prints it (Linux kfd_topology.c, kfd_crat.c): one node per NUMA node, then one per GPU, with
// their memory, caches and the links between them.
#include "tests/sim/node/writers.hpp"

#include <algorithm>

namespace sim {
namespace {

const std::string kfd_root = "sys/devices/virtual/kfd/kfd";

constexpr int link_hypertransport = 1;
constexpr int link_pcie = 2;
constexpr int link_xgmi = 11;
constexpr int weight_pcie_pair = 40;
// Between partitions KFD knows weights only (Linux kfd_crat.c, kfd_fill_gpu_xgmi_link_to_gpu with more than one node).
constexpr int weight_within_board = 13;
constexpr int weight_between_boards = 2 * weight_within_board + 15;
constexpr int partition_shift = 28; // Linux kfd_topology.c: "On multi-partition nodes, node id = location_id[31:28]"
constexpr std::uint64_t first_gpu_simd = 2147487744;

/// Larger than any process id that Linux hands out (PID_MAX_LIMIT), so nobody can mistake it for a live process.
constexpr const char* ghost_process = "4194304";

/// The lines of `properties`, in the kernel's order; names that a model gives beyond these follow.
constexpr const char* property_names[] = {"cpu_cores_count",
                                          "simd_count",
                                          "mem_banks_count",
                                          "caches_count",
                                          "io_links_count",
                                          "p2p_links_count",
                                          "cpu_core_id_base",
                                          "simd_id_base",
                                          "max_waves_per_simd",
                                          "lds_size_in_kb",
                                          "gds_size_in_kb",
                                          "num_gws",
                                          "wave_front_size",
                                          "array_count",
                                          "simd_arrays_per_engine",
                                          "cu_per_simd_array",
                                          "simd_per_cu",
                                          "max_slots_scratch_cu",
                                          "gfx_target_version",
                                          "vendor_id",
                                          "device_id",
                                          "location_id",
                                          "domain",
                                          "drm_render_minor",
                                          "hive_id",
                                          "num_sdma_engines",
                                          "num_sdma_xgmi_engines",
                                          "num_sdma_queues_per_engine",
                                          "num_cp_queues",
                                          "max_engine_clk_fcompute",
                                          "local_mem_size",
                                          "fw_version",
                                          "capability",
                                          "debug_prop",
                                          "sdma_fw_version",
                                          "unique_id",
                                          "num_xcc",
                                          "max_engine_clk_ccompute"};

struct link {
    int type, from, to, weight;
    std::int64_t least, most;
};

void put_links(tree& out, const std::string& directory, const std::vector<link>& links) {
    out.directory(directory);
    int number = 0;
    for (const link& l : links) {
        out.put(directory + "/" + std::to_string(number++) + "/properties",
                "type " + std::to_string(l.type) + "\nversion_major 0\nversion_minor 0\nnode_from " +
                    std::to_string(l.from) + "\nnode_to " + std::to_string(l.to) + "\nweight " +
                    std::to_string(l.weight) + "\nmin_latency 0\nmax_latency 0\nmin_bandwidth " +
                    std::to_string(l.least) + "\nmax_bandwidth " + std::to_string(l.most) +
                    "\nrecommended_transfer_size 0\nrecommended_sdma_engine_id_mask 0\nflags 1\n");
    }
}

void put_properties(tree& out, const std::string& path, numbers values) {
    std::string text;
    for (const char* name : property_names) {
        text += std::string(name) + " " + std::to_string(static_cast<std::uint64_t>(values[name])) + "\n";
        values.erase(name);
    }
    for (const auto& [name, value] : values) {
        text += name + " " + std::to_string(static_cast<std::uint64_t>(value)) + "\n";
    }
    out.put(path, text);
}

void put_memory(tree& out, const std::string& node, int heap, std::int64_t bytes, std::int64_t width,
                std::int64_t mhz) {
    out.put(node + "/mem_banks/0/properties", "heap_type " + std::to_string(heap) + "\nsize_in_bytes " +
                                                  std::to_string(bytes) + "\nflags 0\nwidth " + std::to_string(width) +
                                                  "\nmem_clk_max " + std::to_string(mhz) + "\n");
}

/// One entry each for the vector, instruction and scalar cache of a compute unit and for the shared L2: enough to say
/// the sizes; a real node repeats the first three for every unit.
int put_caches(tree& out, const std::string& node, std::uint64_t first_simd, const gcd& g) {
    struct cache {
        int level, type;
        std::int64_t kib;
    };
    // type: 1 data, 2 instruction, 8 of a GPU (Linux kfd_topology.h)
    const cache caches[] = {{1, 9, g.l1_kib}, {1, 10, 32}, {1, 9, 16}, {2, 9, g.l2_kib}};
    int number = 0;
    for (const cache& c : caches) {
        out.put(node + "/caches/" + std::to_string(number++) + "/properties",
                "processor_id_low " + std::to_string(first_simd) + "\nlevel " + std::to_string(c.level) + "\nsize " +
                    std::to_string(c.kib) +
                    "\ncache_line_size 128\ncache_lines_per_tag 1\nassociation 16\nlatency 1\n"
                    "type " +
                    std::to_string(c.type) + "\nsibling_map 1\n");
    }
    return number;
}

/// The links that start at CPU node NUMBER: to the other CPU nodes, then to the GPUs attached to it.
std::vector<link> links_of_cpu(const placed_node& node, int number) {
    const processors& cpu = node.model->processors;
    std::vector<link> links;
    for (int other = 0; other < cpu.numa_nodes(); ++other) {
        if (other != number) {
            const bool same_package = other / cpu.numa_per_package == number / cpu.numa_per_package;
            links.push_back({link_hypertransport, number, other,
                             same_package ? cpu.distance_within_package : cpu.distance_between_packages, 0, 0});
        }
    }
    for (const placed_gcd& g : node.gcds) {
        if (std::max(g.what->pci.numa, 0) == number) {
            const cpu_link& l = g.what->cpu_link;
            links.push_back({l.type, number, g.kfd_node, l.weight, l.min_mb_s, l.max_mb_s});
        }
    }
    return links;
}

/// The links that start at a GPU: to the CPU node it is attached to, then to every GPU of its hive. A pair without a
/// direct link has an entry too, with the weight of its hops and no bandwidth.
std::vector<link> links_of_gpu(const placed_node& node, const placed_gcd& g) {
    const model& m = *node.model;
    const cpu_link& up = g.what->cpu_link;
    std::vector<link> links{{up.type, g.kfd_node, std::max(g.what->pci.numa, 0), up.weight, up.min_mb_s, up.max_mb_s}};
    for (const placed_gcd& other : node.gcds) {
        const int distance = other.index == g.index ? 0 : hops(node, g, other);
        if (g.hive_id == 0 || distance <= 0) {
            continue;
        }
        if (g.what->partitions > 1) {
            const bool same_board = g.device == other.device;
            links.push_back({link_xgmi, g.kfd_node, other.kfd_node,
                             same_board ? weight_within_board : weight_between_boards, 0, 0});
            continue;
        }
        const int direct = m.links[g.index][other.index];
        links.push_back({link_xgmi, g.kfd_node, other.kfd_node, distance * m.weight_per_hop,
                         direct > 0 ? m.mb_s_per_link : 0, direct * m.mb_s_per_link});
    }
    return links;
}

/// Pairs of GPUs that reach each other over PCIe: both outside a hive.
std::vector<link> peers_of_gpu(const placed_node& node, const placed_gcd& g) {
    std::vector<link> links;
    for (const placed_gcd& other : node.gcds) {
        if (other.index != g.index && (g.hive_id == 0 || other.hive_id == 0)) {
            links.push_back({link_pcie, g.kfd_node, other.kfd_node, weight_pcie_pair, g.what->cpu_link.min_mb_s,
                             std::min(g.what->cpu_link.max_mb_s, other.what->cpu_link.max_mb_s)});
        }
    }
    return links;
}

void put_cpu_node(tree& out, const placed_node& node, int number) {
    const processors& cpu = node.model->processors;
    const std::string at = kfd_root + "/topology/nodes/" + std::to_string(number);
    const std::vector<link> links = links_of_cpu(node, number);
    out.line(at + "/gpu_id", "0");
    out.put(at + "/name", "\n");
    put_properties(out, at + "/properties",
                   {{"cpu_cores_count", cpu.cores_per_numa() * cpu.threads_per_core},
                    {"mem_banks_count", 1},
                    {"io_links_count", static_cast<std::int64_t>(links.size())},
                    {"cpu_core_id_base", number * cpu.cores_per_numa()},
                    {"max_engine_clk_ccompute", cpu.mhz}});
    put_memory(out, at, 0, cpu.memory_kib_per_numa * 1024, 64, 3200);
    put_links(out, at + "/io_links", links);
    for (const char* empty : {"/caches", "/p2p_links", "/perf"}) {
        out.directory(at + empty);
    }
}

void put_gpu_node(tree& out, const placed_node& node, const placed_gcd& g) {
    const gcd& what = *g.what;
    const std::string at = kfd_root + "/topology/nodes/" + std::to_string(g.kfd_node);
    const std::vector<link> links = links_of_gpu(node, g);
    const std::vector<link> peers = peers_of_gpu(node, g);
    const std::uint64_t first_simd = first_gpu_simd + static_cast<std::uint64_t>(g.card) * 4096;
    const std::string& bdf = what.pci.bdf;
    const auto part = [&](std::size_t from, std::size_t count) {
        return static_cast<std::int64_t>(std::stoul(bdf.substr(from, count), nullptr, 16));
    };
    numbers values = what.kfd; // what the model gives stays, even where it contradicts the rest
    values.emplace("mem_banks_count", 1);
    values.emplace("caches_count", put_caches(out, at, first_simd, what));
    values.emplace("io_links_count", static_cast<std::int64_t>(links.size()));
    values.emplace("p2p_links_count", static_cast<std::int64_t>(peers.size()));
    values.emplace("simd_id_base", static_cast<std::int64_t>(first_simd));
    values.emplace("vendor_id", what.pci.vendor);
    values.emplace("device_id", what.pci.device);
    values.emplace("location_id",
                   part(5, 2) << 8 | part(8, 2) << 3 | part(11, 1) | std::int64_t{what.partition} << partition_shift);
    values.emplace("domain", part(0, 4));
    values.emplace("drm_render_minor", g.render_minor);
    values.emplace("hive_id", static_cast<std::int64_t>(g.hive_id));
    values.emplace("unique_id", static_cast<std::int64_t>(g.unique_id));
    put_properties(out, at + "/properties", values);
    out.line(at + "/gpu_id", std::to_string(g.gpu_id));
    out.line(at + "/name", what.kfd_name);
    constexpr int heap_frame_buffer_public = 1;
    put_memory(out, at, heap_frame_buffer_public, what.vram_bytes, what.memory_width, what.memory_mhz);
    out.line(at + "/mem_banks/0/used_memory", std::to_string(what.vram_used_bytes + what.ghost_bytes));
    put_links(out, at + "/io_links", links);
    put_links(out, at + "/p2p_links", peers);
    out.directory(at + "/perf");
}

/// A process that ended without giving its memory back.
void put_ghost(tree& out, const placed_node& node) {
    const std::string at = kfd_root + "/proc/" + ghost_process;
    out.line(at + "/pasid", "32770");
    out.directory(at + "/queues");
    for (const placed_gcd& g : node.gcds) {
        const std::string id = std::to_string(g.gpu_id);
        out.line(at + "/vram_" + id, std::to_string(g.what->ghost_bytes));
        out.line(at + "/sdma_" + id, "0");
        out.line(at + "/stats_" + id + "/cu_occupancy", "0");
        out.line(at + "/stats_" + id + "/evicted_ms", "0");
    }
}

} // namespace

void write_kfd(tree& out, const placed_node& node) {
    const model& m = *node.model;
    if (m.gcds.empty()) {
        return;
    }
    const std::string number = std::to_string(kfd_major) + ":0";
    out.line(kfd_root + "/dev", number);
    out.put(kfd_root + "/uevent", "MAJOR=" + std::to_string(kfd_major) + "\nMINOR=0\nDEVNAME=kfd\n");
    out.link("sys/class/kfd/kfd", kfd_root);
    out.link("sys/dev/char/" + number, kfd_root);
    out.link(kfd_root + "/subsystem", "sys/class/kfd");
    out.line(kfd_root + "/topology/generation_id", "2");
    out.put(kfd_root + "/topology/system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
    for (int n = 0; n < m.processors.numa_nodes(); ++n) {
        put_cpu_node(out, node, n);
    }
    for (const placed_gcd& g : node.gcds) {
        put_gpu_node(out, node, g);
    }
    // The simulated runtime enters its processes here, whoever they belong to.
    out.directory(kfd_root + "/proc");
    out.mode(kfd_root + "/proc", 01777);
    if (std::any_of(node.gcds.begin(), node.gcds.end(), [](const placed_gcd& g) { return g.what->ghost_bytes > 0; })) {
        put_ghost(out, node);
    }
}

} // namespace sim
