#include "discovery/merge.hpp"

#include "discovery/products.hpp"
#include "discovery/xnack.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>
#include <utility>

namespace amd_gpu {
namespace {

/// The dies of an MI250X and of an MI250 (two in a package) are joined by four xGMI links.
constexpr uint32_t links_within_package = 4;
/// Linux kfd_crat.c: the weight of one xGMI hop, and the bandwidth of one 16-bit link at 25 GT/s.
constexpr uint64_t weight_of_one_hop = 15;
constexpr uint64_t mb_per_s_of_one_link = 50000;

/// Takes a fact over unless there is one already, and keeps its source.
template<typename T>
void take(gcd& into, std::optional<T> gcd::* field, const char* name, const std::optional<T>& value,
          const std::string& source) {
    if (!value || into.*field)
        return;
    into.*field = value;
    into.sources[name] = source;
}

void take_pci(gcd& into, const pci_gpu& from) {
    const std::string device = "pci: devices/" + from.bdf.text() + "/";
    take(into, &gcd::pci_device, "pci_device", from.device, device + "device");
    take(into, &gcd::product, "product", from.product, device + "product_name");
    take(into, &gcd::unique_id, "unique_id", from.unique_id, device + "unique_id");
    // The DRM device of the function is that of the first partition alone; the others have platform devices.
    if (into.partition.value_or(0) == 0)
        take(into, &gcd::render_minor, "render_minor", from.render_minor, device + "drm");
    take(into, &gcd::numa, "numa", from.numa, device + "numa_node");
    take(into, &gcd::vram_bytes, "vram_bytes", from.vram_bytes, device + "mem_info_vram_total");
    take(into, &gcd::vbios, "vbios", from.vbios, device + "vbios_version");
    take(into, &gcd::compute_partition, "compute_partition", from.compute_partition,
         device + "current_compute_partition");
    take(into, &gcd::memory_partition, "memory_partition", from.memory_partition, device + "current_memory_partition");
    const std::string hop = from.slot_port ? "pci: devices/" + from.slot_port->text() + "/" : device;
    take(into, &gcd::pcie_gt_per_s, "pcie_gt_per_s", from.gt_per_s, hop + "current_link_speed");
    take(into, &gcd::pcie_width, "pcie_width", from.width, hop + "current_link_width");
    into.firmware = from.firmware;
    if (!into.firmware.empty())
        into.sources["firmware"] = device + "fw_version";
}

void take_kfd(gcd& into, const kfd_device& from) {
    const std::string node = fmt::format("kfd: topology/nodes/{}/", from.node);
    const std::string properties = node + "properties ";
    take(into, &gcd::partition, "partition", from.partition, properties + "location_id, order of nodes");
    take(into, &gcd::target, "target", from.target, properties + "gfx_target_version, capability");
    take(into, &gcd::memory_bytes, "memory_bytes", from.memory_bytes, node + "mem_banks");
    take(into, &gcd::compute_units, "compute_units", from.compute_units, properties + "simd_count, simd_per_cu");
    take(into, &gcd::xccs, "xccs", from.xccs, properties + "num_xcc");
    take(into, &gcd::max_clock_mhz, "max_clock_mhz", from.max_clock_mhz, properties + "max_engine_clk_fcompute");
    take(into, &gcd::unique_id, "unique_id", from.unique_id, properties + "unique_id");
    take(into, &gcd::hive, "hive", from.hive, properties + "hive_id");
    take(into, &gcd::render_minor, "render_minor", from.render_minor, properties + "drm_render_minor");
    take(into, &gcd::kfd_node, "kfd_node", std::optional(from.node), node);
    take(into, &gcd::kfd_gpu_id, "kfd_gpu_id", std::optional(from.gpu_id), node + "gpu_id");
}

/// Takes over what the table of products says. The number of CUs tells a model only on a whole die.
void take_product(gcd& into, const pci_gpu* function) {
    const auto units = into.partition ? std::nullopt : into.compute_units;
    const auto known = into.pci_device ? find_product(*into.pci_device, units) : std::nullopt;
    const std::string source = "table of products: PCI device id";
    if (function != nullptr && function->virtual_function) {
        take(into, &gcd::kind, "kind", std::optional(gpu_kind::virtual_function),
             "pci: devices/" + into.bdf.text() + "/physfn");
    }
    if (known) {
        take(into, &gcd::kind, "kind", std::optional(known->kind), source);
        if (!known->model.empty()) {
            take(into, &gcd::model, "model", std::optional(std::string(known->model)),
                 known->compute_units == 0 ? source : source + ", compute_units");
        }
    }
    if (into.target && is_integrated_processor(into.target->processor))
        take(into, &gcd::kind, "kind", std::optional(gpu_kind::integrated), "table of products: processor");
}

void take_xnack(gcd& into, const kfd_device& from, const std::optional<int64_t>& noretry) {
    if (!into.target)
        return;
    const auto modes = xnack_of(
        {into.target->processor, noretry, from.shared_virtual_memory, into.kind == gpu_kind::virtual_function});
    const std::string source = "table of processors, module amdgpu parameter noretry";
    take(into, &gcd::xnack, "xnack", modes.by_default, source);
    take(into, &gcd::xnack_selectable, "xnack_selectable", modes.selectable, source + ", KFD capability");
}

const pci_gpu* at(const pci_view& pci, const pci_address& bdf) {
    const auto found =
        std::find_if(pci.gpus.begin(), pci.gpus.end(), [&](const pci_gpu& gpu) { return gpu.bdf == bdf; });
    return found == pci.gpus.end() ? nullptr : &*found;
}

/// How many xGMI links run in parallel: the driver gives the bandwidth of one as the minimum and of all as the maximum.
std::optional<uint32_t> parallel_links(const kfd_link& l) {
    const uint64_t one = l.min_mb_per_s.value_or(0) > 0 ? *l.min_mb_per_s : mb_per_s_of_one_link;
    const uint64_t all = l.max_mb_per_s.value_or(0);
    if (all == 0 || all % one != 0)
        return std::nullopt;
    return static_cast<uint32_t>(all / one);
}

/// How many GCDs allocate from the same memory. A whole die has it alone. Of partitions the driver shows an even part
/// of their memory domain or, in another mode, all of it to each (Linux amdgpu_amdkfd.c, amdgpu_amdkfd_xcp_memory_size
/// and mem_alloc_mode): what they show together, compared with what the board has, tells which. It stays unknown for an
/// APU whose driver calls only a carve-out VRAM, and where partitions are hidden from this process.
void set_memory_shares(std::vector<gcd>& gcds, bool some_hidden) {
    std::map<pci_address, std::vector<gcd*>> boards;
    for (auto& g : gcds)
        boards[g.bdf].push_back(&g);
    for (auto& [bdf, parts] : boards) {
        uint64_t shown = 0;
        bool complete = true;
        for (const gcd* part : parts) {
            complete = complete && part->memory_bytes;
            shown += part->memory_bytes.value_or(0);
        }
        const bool whole = parts.size() == 1 && parts.front()->compute_partition.value_or("SPX") == "SPX";
        if (!complete || (!whole && (parts.size() == 1 || some_hidden)))
            continue;
        uint32_t sharing = 1;
        if (!whole) {
            const uint64_t board = parts.front()->vram_bytes.value_or(0);
            if (board == 0 || *parts.front()->memory_bytes > board + board / 16)
                continue;
            const double times = static_cast<double>(shown) / static_cast<double>(board);
            sharing = std::max(1U, static_cast<uint32_t>(std::lround(times)));
            // The driver keeps some memory back, so that shares add up to a little less; far from a whole number is
            // odd.
            if (std::abs(times - sharing) > 0.125 || parts.size() % sharing != 0)
                continue;
        }
        for (gcd* part : parts) {
            take(*part, &gcd::memory_shared_by, "memory_shared_by", std::optional(sharing),
                 whole ? "kfd: one node on the PCI function" : "kfd: mem_banks of all partitions, vram_bytes");
        }
    }
}

} // namespace

std::set<pci_address> leave_out_integrated(pci_view& pci, kfd_topology& kfd) {
    std::set<pci_address> left_out;
    for (const auto& function : pci.gpus) {
        const auto known = function.device ? find_product(*function.device, std::nullopt) : std::nullopt;
        if (known && known->kind == gpu_kind::integrated)
            left_out.insert(function.bdf);
    }
    for (const auto& device : kfd.devices) {
        if (device.target && is_integrated_processor(device.target->processor))
            left_out.insert(device.bdf);
    }
    const auto is_left_out = [&](const auto& device) { return left_out.contains(device.bdf); };
    const bool nothing_else = std::all_of(pci.gpus.begin(), pci.gpus.end(), is_left_out) &&
                              std::all_of(kfd.devices.begin(), kfd.devices.end(), is_left_out);
    if (nothing_else)
        return {};
    std::erase_if(pci.gpus, is_left_out);
    std::erase_if(kfd.devices, is_left_out);
    return left_out;
}

std::vector<gcd> join(const pci_view& pci, const kfd_topology& kfd) {
    std::vector<gcd> gcds;
    std::set<pci_address> known_to_kfd;
    for (const auto& device : kfd.devices) {
        known_to_kfd.insert(device.bdf);
        gcd g;
        g.bdf = device.bdf;
        const pci_gpu* function = at(pci, device.bdf);
        // What the function says is about the whole die: a partition's own identity comes first.
        if (device.partition)
            take_kfd(g, device);
        if (function != nullptr)
            take_pci(g, *function);
        take_kfd(g, device);
        take_product(g, function);
        take_xnack(g, device, kfd.noretry);
        g.bound = function == nullptr || function->driver == "amdgpu";
        gcds.push_back(std::move(g));
    }
    for (const auto& function : pci.gpus) {
        if (known_to_kfd.contains(function.bdf))
            continue;
        gcd g;
        g.bdf = function.bdf;
        take_pci(g, function);
        take_product(g, &function);
        gcds.push_back(std::move(g));
    }
    set_memory_shares(gcds, kfd.hidden > 0);
    std::sort(gcds.begin(), gcds.end(), [](const gcd& a, const gcd& b) {
        return std::tie(a.bdf, a.partition, a.kfd_node) < std::tie(b.bdf, b.partition, b.kfd_node);
    });
    for (uint32_t index = 0; auto& g : gcds)
        g.index = index++;
    return gcds;
}

void set_smi(std::vector<gcd>& gcds, const smi_view& smi) {
    const auto on_bus = [&](const pci_address& bdf) {
        return std::any_of(gcds.begin(), gcds.end(), [&](const gcd& g) { return g.bdf == bdf; });
    };
    for (auto device : smi.devices) {
        if (!on_bus(device.bdf) && device.bdf.function != 0)
            device.partition = std::exchange(device.bdf.function, 0U);
        const auto match = std::find_if(gcds.begin(), gcds.end(), [&](const gcd& g) {
            return g.bdf == device.bdf && g.partition.value_or(device.partition) == device.partition;
        });
        if (match == gcds.end())
            continue;
        take(*match, &gcd::smi_index, "smi_index", std::optional(device.index), "smi: rsmi_dev_pci_id_get");
        take(*match, &gcd::unique_id, "unique_id", device.unique_id, "smi: rsmi_dev_unique_id_get");
    }
}

std::vector<locality_query> locality_queries(const std::vector<gcd>& gcds) {
    std::vector<locality_query> queries;
    for (const auto& g : gcds)
        queries.push_back({g.bdf, g.numa});
    return queries;
}

void set_places(std::vector<gcd>& gcds, const locality_view& view) {
    for (std::size_t i = 0; i < gcds.size() && i < view.places.size(); ++i) {
        auto& g = gcds[i];
        g.numa.reset();
        g.sources.erase("numa");
        take(g, &gcd::numa, "numa", view.places[i].numa, "hwloc: NUMA node of the PCI function");
        g.cores = view.places[i].cores;
        if (!g.cores.empty())
            g.sources["cores"] = "hwloc: L3 caches of the NUMA node, shared out in PCI order";
    }
}

std::vector<link> links_of(const kfd_topology& kfd, const std::vector<gcd>& gcds) {
    std::map<uint32_t, uint32_t> index_of; // KFD node -> index of the GCD
    for (const auto& g : gcds) {
        if (g.kfd_node)
            index_of[*g.kfd_node] = g.index;
    }
    bool bandwidth_told = false;
    for (const auto& device : kfd.devices) {
        for (const auto& l : device.links) {
            if (l.type == kfd_link_xgmi && index_of.contains(l.to_node))
                bandwidth_told |= l.max_mb_per_s.value_or(0) > 0;
        }
    }

    std::map<std::pair<uint32_t, uint32_t>, link> links; // the first entry of a pair counts: io_links before p2p_links
    for (const auto& device : kfd.devices) {
        const auto from = index_of.find(device.node);
        if (from == index_of.end())
            continue;
        for (const auto& l : device.links) {
            const auto to = index_of.find(l.to_node);
            if (to == index_of.end() || to->second == from->second)
                continue;
            link direct{from->second, to->second, "", std::nullopt, std::nullopt};
            if (l.max_mb_per_s.value_or(0) > 0)
                direct.gb_per_s = static_cast<double>(*l.max_mb_per_s) / 1000.0;
            if (l.type == kfd_link_xgmi) {
                if (bandwidth_told ? !direct.gb_per_s.has_value() : l.weight != weight_of_one_hop)
                    continue;
                direct.type = "xgmi";
                direct.links = parallel_links(l);
            } else if (l.type == kfd_link_pcie) {
                direct.type = "pcie";
            } else {
                continue;
            }
            links.try_emplace({direct.from, direct.to}, direct);
        }
    }
    std::vector<link> all;
    for (auto& [pair, l] : links)
        all.push_back(std::move(l));
    return all;
}

void set_packages(std::vector<gcd>& gcds, const std::vector<link>& links, const pci_view& pci) {
    const auto serial = [&](const gcd& g) {
        const pci_gpu* function = at(pci, g.bdf);
        return function == nullptr ? std::nullopt : function->serial;
    };
    std::map<std::string, int> dies_with;
    for (const auto& g : gcds) {
        if (const auto s = serial(g))
            ++dies_with[*s];
    }
    const auto dies = [](const gcd& g) -> uint32_t {
        const auto known = g.pci_device ? find_product(*g.pci_device, std::nullopt) : std::nullopt;
        return known && g.kind != gpu_kind::virtual_function ? known->dies_per_package : 0;
    };
    const auto linked = [&](const gcd& a, const gcd& b) {
        return std::any_of(links.begin(), links.end(), [&](const link& l) {
            return l.from == a.index && l.to == b.index && l.links == links_within_package;
        });
    };
    const auto same = [&](const gcd& a, const gcd& b) -> const char* {
        if (a.bdf == b.bdf)
            return "pci: partitions of one function";
        if (dies(a) != 2 || dies(b) != 2)
            return nullptr;
        if (linked(a, b))
            return "kfd: four xGMI links between the dies";
        // A placeholder that all boards carry is no serial number: two dies are all that can share one.
        const auto s = serial(a);
        return s && s == serial(b) && dies_with[*s] == 2 ? "pci: serial_number" : nullptr;
    };

    uint32_t next = 0;
    for (auto& g : gcds) {
        if (g.package)
            continue;
        if (dies(g) == 1)
            take(g, &gcd::package, "package", std::optional(next), "table of products: one function is one package");
        for (auto& other : gcds) {
            const char* source = other.index == g.index || other.package ? nullptr : same(g, other);
            if (source == nullptr)
                continue;
            take(g, &gcd::package, "package", std::optional(next), source);
            take(other, &gcd::package, "package", std::optional(next), source);
        }
        if (g.package)
            ++next;
    }
}

} // namespace amd_gpu
