// Writes a node as JSON. Large numbers that are identities (unique id, hive) are hexadecimal text: readers that keep
// numbers as doubles would round them.
#include "node/json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

using json = nlohmann::ordered_json;

template<typename T>
json or_null(const std::optional<T>& fact) {
    return fact ? json(*fact) : json(nullptr);
}

json hex_or_null(const std::optional<uint64_t>& fact) {
    return fact ? json(fmt::format("0x{:016x}", *fact)) : json(nullptr);
}

json json_of_gcd(const gcd& g, bool with_sources) {
    json j;
    j["gcd"] = g.index;
    j["bdf"] = g.bdf.text();
    j["partition"] = or_null(g.partition);
    j["unique_id"] = hex_or_null(g.unique_id);
    j["package"] = or_null(g.package);
    j["kind"] = g.kind ? json(text_of(*g.kind)) : json(nullptr);
    j["target"] = g.target ? json(g.target->text()) : json(nullptr);
    j["xnack"] = or_null(g.xnack);
    j["xnack_selectable"] = or_null(g.xnack_selectable);
    j["model"] = or_null(g.model);
    j["product"] = or_null(g.product);
    j["pci_device"] = g.pci_device ? json(fmt::format("0x{:04x}", *g.pci_device)) : json(nullptr);
    j["memory_bytes"] = or_null(g.memory_bytes);
    j["memory_shared_by"] = or_null(g.memory_shared_by);
    j["vram_bytes"] = or_null(g.vram_bytes);
    j["compute_partition"] = or_null(g.compute_partition);
    j["memory_partition"] = or_null(g.memory_partition);
    j["compute_units"] = or_null(g.compute_units);
    j["xccs"] = or_null(g.xccs);
    j["max_clock_mhz"] = or_null(g.max_clock_mhz);
    j["numa"] = or_null(g.numa);
    j["cores"] = g.cores.empty() ? json(nullptr) : json(g.cores);
    j["render_minor"] = or_null(g.render_minor);
    j["kfd_node"] = or_null(g.kfd_node);
    j["kfd_gpu_id"] = or_null(g.kfd_gpu_id);
    j["smi_index"] = or_null(g.smi_index);
    j["pcie_gt_per_s"] = or_null(g.pcie_gt_per_s);
    j["pcie_width"] = or_null(g.pcie_width);
    j["hive"] = hex_or_null(g.hive);
    j["vbios"] = or_null(g.vbios);
    j["firmware"] = json::object();
    for (const auto& [part, version] : g.firmware)
        j["firmware"][part] = version;
    j["bound"] = g.bound;
    if (with_sources)
        j["sources"] = g.sources;
    return j;
}

} // namespace

json json_of(const node& what, bool with_sources) {
    json j;
    j["schema"] = node_schema;
    j["node"] = what.name;
    j["boot_id"] = what.boot_id;
    j["versions"] = json::object();
    for (const auto& [component, version] : what.versions)
        j["versions"][component] = version;
    j["sources"] = {
        {"pci", or_null(what.sources.pci)}, {"kfd", or_null(what.sources.kfd)}, {"smi", or_null(what.sources.smi)}};
    j["findings"] = json::array();
    for (const auto& f : what.findings) {
        j["findings"].push_back({{"level", text_of(f.level)},
                                 {"check", f.check},
                                 {"bdf", f.bdf ? json(f.bdf->text()) : json(nullptr)},
                                 {"text", f.text}});
    }
    j["gcds"] = json::array();
    for (const auto& g : what.gcds)
        j["gcds"].push_back(json_of_gcd(g, with_sources));
    j["links"] = json::array();
    for (const auto& l : what.links) {
        j["links"].push_back({{"from", l.from},
                              {"to", l.to},
                              {"type", l.type},
                              {"links", or_null(l.links)},
                              {"gb_per_s", or_null(l.gb_per_s)}});
    }
    return j;
}

std::string json_text(const node& what, bool with_sources) {
    return json_of(what, with_sources).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace amd_gpu
