// What amdgpu, DRM and hwmon show of each GPU. Files whose text does not depend on the node come from the model as they
// are; here are the ones that hold ids, sizes or several values.
#include "tests/sim/node/writers.hpp"

#include <algorithm>

namespace sim {
namespace {

const std::string module_directory = "sys/module/amdgpu";

struct metric {
    const char* name;
    int bytes;
};

/// struct gpu_metrics_v1_3 after its header (Linux kgd_pp_interface.h), field by field.
constexpr metric metrics_1_3[] = {
    {"temperature_edge", 2},
    {"temperature_hotspot", 2},
    {"temperature_mem", 2},
    {"temperature_vrgfx", 2},
    {"temperature_vrsoc", 2},
    {"temperature_vrmem", 2},
    {"average_gfx_activity", 2},
    {"average_umc_activity", 2},
    {"average_mm_activity", 2},
    {"average_socket_power", 2},
    {"energy_accumulator", 8},
    {"system_clock_counter", 8},
    {"average_gfxclk_frequency", 2},
    {"average_socclk_frequency", 2},
    {"average_uclk_frequency", 2},
    {"average_vclk0_frequency", 2},
    {"average_dclk0_frequency", 2},
    {"average_vclk1_frequency", 2},
    {"average_dclk1_frequency", 2},
    {"current_gfxclk", 2},
    {"current_socclk", 2},
    {"current_uclk", 2},
    {"current_vclk0", 2},
    {"current_dclk0", 2},
    {"current_vclk1", 2},
    {"current_dclk1", 2},
    {"throttle_status", 4},
    {"current_fan_speed", 2},
    {"pcie_link_width", 2},
    {"pcie_link_speed", 2},
    {"padding", 2},
    {"gfx_activity_acc", 4},
    {"mem_activity_acc", 4},
    {"temperature_hbm0", 2},
    {"temperature_hbm1", 2},
    {"temperature_hbm2", 2},
    {"temperature_hbm3", 2},
    {"firmware_timestamp", 8},
    {"voltage_soc", 2},
    {"voltage_gfx", 2},
    {"voltage_mem", 2},
    {"padding1", 2},
    {"indep_throttle_status", 8},
};

std::string gpu_metrics(const gcd& g) {
    numbers values = g.metrics;
    values.emplace("pcie_link_width", g.pci.link_width_now);
    values.emplace("pcie_link_speed", static_cast<std::int64_t>(g.pci.link_gt_s * 10));
    std::string table;
    const auto append = [&](std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) {
            table += static_cast<char>(value >> (8 * i) & 0xff);
        }
    };
    std::size_t size = 4;
    for (const metric& field : metrics_1_3) {
        size += static_cast<std::size_t>(field.bytes);
    }
    append(size, 2);
    append(1, 1);
    append(3, 1);
    for (const metric& field : metrics_1_3) {
        const auto found = values.find(field.name);
        append(found == values.end() ? ~std::uint64_t{0} : static_cast<std::uint64_t>(found->second), field.bytes);
    }
    return table;
}

void put_drm(tree& out, const std::string& device, const std::string& name, int minor) {
    const std::string directory = device + "/drm/" + name;
    const std::string number = std::to_string(drm_major) + ":" + std::to_string(minor);
    out.line(directory + "/dev", number);
    out.put(directory + "/uevent", "MAJOR=" + std::to_string(drm_major) + "\nMINOR=" + std::to_string(minor) +
                                       "\nDEVNAME=dri/" + name + "\nDEVTYPE=drm_minor\n");
    out.link(directory + "/device", device);
    out.link(directory + "/subsystem", "sys/class/drm");
    out.link("sys/class/drm/" + name, directory);
    out.link("sys/dev/char/" + number, directory);
}

void put_drm_pair(tree& out, const std::string& device, int card, int render_minor) {
    put_drm(out, device, "card" + std::to_string(card), card);
    put_drm(out, device, "renderD" + std::to_string(render_minor), render_minor);
}

void put_hive(tree& out, const placed_node& node, const placed_gcd& g) {
    std::string hop_counts;
    std::string link_counts;
    for (const placed_gcd& other : node.gcds) {
        if (other.what->partition != 0) {
            continue; // the hive's members are boards
        }
        hop_counts += hex(static_cast<unsigned>(std::max(hops(node, g, other), 0)), 2) + " ";
        link_counts += hex(static_cast<unsigned>(std::max(node.model->links[g.index][other.index], 0)), 2) + " ";
    }
    out.line(g.device + "/xgmi_num_hops", hop_counts);
    out.line(g.device + "/xgmi_num_links", link_counts);
    out.line(g.device + "/xgmi_device_id", std::to_string(g.unique_id));
    out.line(g.device + "/xgmi_physical_id", std::to_string(g.index));
    out.line(g.device + "/xgmi_hive_info/xgmi_hive_id", std::to_string(g.hive_id));
}

void put_gpu(tree& out, const placed_node& node, const placed_gcd& g) {
    const gcd& what = *g.what;
    const std::string at = g.device + "/";
    const std::string hwmon = at + "hwmon/hwmon" + std::to_string(g.card);
    out.line(at + "unique_id", hex(g.unique_id, 16));
    out.line(at + "serial_number", g.serial);
    const std::int64_t used = what.function_vram_used_bytes + what.ghost_bytes;
    for (const char* kind : {"vram", "vis_vram"}) {
        out.line(at + "mem_info_" + kind + "_total", std::to_string(what.function_vram_bytes));
        out.line(at + "mem_info_" + kind + "_used", std::to_string(used));
    }
    out.line(at + "mem_info_gtt_total", std::to_string(what.gtt_bytes));
    out.line(at + "mem_info_gtt_used", "10510336");
    out.put(at + "gpu_metrics", gpu_metrics(what));
    if (g.hive_id != 0) {
        put_hive(out, node, g);
    }
    if (!what.compute_partition.empty()) {
        out.line(at + "current_compute_partition", what.compute_partition);
        out.line(at + "current_memory_partition", what.memory_partition);
    }
    out.line(hwmon + "/name", "amdgpu");
    out.link(hwmon + "/device", g.device);
    out.link(hwmon + "/subsystem", "sys/class/hwmon");
    out.link("sys/class/hwmon/hwmon" + std::to_string(g.card), hwmon);

    const auto inside = [&](const std::string& path) { // "hwmon/X" is X of the one hwmon directory
        return path.rfind("hwmon/", 0) == 0 ? hwmon + path.substr(5) : at + path;
    };
    for (const auto& [path, text] : what.files) {
        out.line(inside(path), text);
    }
    for (const std::string& path : what.remove) {
        out.remove(inside(path));
    }
}

} // namespace

void write_gpus(tree& out, const placed_node& node) {
    if (node.model->gcds.empty()) {
        return;
    }
    out.line(module_directory + "/initstate", "live");
    out.line(module_directory + "/refcnt", std::to_string(node.gcds.size()));
    out.line(module_directory + "/parameters/noretry", "-1");
    out.link(module_directory + "/drivers/pci:amdgpu", "sys/bus/pci/drivers/amdgpu");
    out.link("sys/bus/pci/drivers/amdgpu/module", module_directory);
    out.line("sys/class/drm/version", "drm 1.1.0 20060810");
    for (const placed_gcd& g : node.gcds) {
        put_drm_pair(out, g.drm, g.card, g.render_minor);
        if (g.what->partition == 0) {
            put_gpu(out, node, g);
        }
    }
    for (const idle_drm& idle : node.idle) {
        put_drm_pair(out, idle.device, idle.card, idle.render_minor);
    }
}

} // namespace sim
