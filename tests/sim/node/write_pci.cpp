// PCI functions and bridges as Linux shows them (Linux Documentation/ABI/testing/sysfs-bus-pci), configuration space
// included, because hwloc reads the state of a link there when it may.
#include "tests/sim/node/writers.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace sim {
namespace {

constexpr std::uint32_t bridge_vendor = 0x1022; // AMD
constexpr std::uint32_t bridge_device = 0x1483; // root port of EPYC processors
constexpr std::uint32_t bridge_class = 0x060400;

unsigned bus(const std::string& bdf) {
    return static_cast<unsigned>(std::stoul(bdf.substr(5, 2), nullptr, 16));
}

/// The speed's name and its code in the link registers (PCI Express base specification, Link Status).
std::pair<std::string, unsigned> speed(double gt_s) {
    static const std::array<std::pair<double, const char*>, 6> speeds = {
        {{2.5, "2.5"}, {5, "5.0"}, {8, "8.0"}, {16, "16.0"}, {32, "32.0"}, {64, "64.0"}}};
    const auto found = std::find_if(speeds.begin(), speeds.end(), [&](const auto& s) { return s.first >= gt_s; });
    const auto& known = found == speeds.end() ? speeds.back() : *found;
    return {std::string(known.second) + " GT/s PCIe", static_cast<unsigned>(&known - speeds.data()) + 1};
}

/// 256 bytes of configuration space: the header and a PCI Express capability at 0x40.
std::string configuration(const pci_function& f, const std::string& bdf, bool bridge, unsigned secondary,
                          unsigned subordinate) {
    std::string space(256, '\0');
    const auto set = [&](std::size_t at, std::uint32_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) {
            space[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i) & 0xff);
        }
    };
    set(0x00, f.vendor, 2);
    set(0x02, f.device, 2);
    set(0x04, 0x0006, 2); // memory space, bus master
    set(0x06, 0x0010, 2); // has a list of capabilities
    set(0x08, f.revision, 1);
    set(0x09, f.class_code, 3);
    set(0x34, 0x40, 1);
    if (bridge) {
        set(0x0e, 1, 1);
        set(0x18, bus(bdf), 1);
        set(0x19, secondary, 1);
        set(0x1a, subordinate, 1);
    } else {
        set(0x2c, f.subsystem_vendor, 2);
        set(0x2e, f.subsystem_device, 2);
    }
    const unsigned code = speed(f.link_gt_s).second;
    set(0x40, 0x10, 1);
    set(0x42, bridge ? 0x42 : 0x02, 2);
    set(0x4c, static_cast<unsigned>(f.link_width) << 4 | code, 4);
    set(0x52, static_cast<unsigned>(f.link_width_now) << 4 | code, 2);
    return space;
}

/// The files that every PCI directory has.
void put_function(tree& out, const std::string& directory, const std::string& bdf, const pci_function& f,
                  const processors& cpu) {
    const std::string at = directory + "/";
    out.line(at + "vendor", "0x" + hex(f.vendor, 4));
    out.line(at + "device", "0x" + hex(f.device, 4));
    out.line(at + "class", "0x" + hex(f.class_code, 6));
    out.line(at + "revision", "0x" + hex(f.revision, 2));
    out.line(at + "subsystem_vendor", "0x" + hex(f.subsystem_vendor, 4));
    out.line(at + "subsystem_device", "0x" + hex(f.subsystem_device, 4));
    out.line(at + "numa_node", std::to_string(f.numa));
    const int cores = f.numa < 0 ? cpu.cores() : cpu.cores_per_numa();
    const std::vector<int> local = cpu.cpus_of_cores(std::max(f.numa, 0) * cpu.cores_per_numa(), cores);
    out.line(at + "local_cpus", cpu_mask(local, cpu.cpus()));
    out.line(at + "local_cpulist", cpu_list(local));
    const std::string link_speed = speed(f.link_gt_s).first;
    out.line(at + "current_link_speed", link_speed);
    out.line(at + "max_link_speed", link_speed);
    out.line(at + "current_link_width", std::to_string(f.link_width_now));
    out.line(at + "max_link_width", std::to_string(f.link_width));
    out.line(at + "enable", "1");
    out.line(at + "irq", "0");
    std::string resource;
    for (int i = 0; i < 13; ++i) {
        resource += "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
    }
    out.put(at + "resource", resource);
    out.put(at + "uevent", (f.driver.empty() ? "" : "DRIVER=" + f.driver + "\n") + "PCI_CLASS=" + hex(f.class_code, 5) +
                               "\nPCI_ID=" + hex(f.vendor, 4) + ":" + hex(f.device, 4) +
                               "\nPCI_SUBSYS_ID=" + hex(f.subsystem_vendor, 4) + ":" + hex(f.subsystem_device, 4) +
                               "\nPCI_SLOT_NAME=" + bdf + "\n");
    out.link(at + "subsystem", "sys/bus/pci");
    out.link("sys/bus/pci/devices/" + bdf, directory);
    if (!f.driver.empty()) {
        const std::string driver = "sys/bus/pci/drivers/" + f.driver;
        out.link(driver + "/" + bdf, directory);
        out.link(at + "driver", driver);
    }
}

} // namespace

void write_pci(tree& out, const pci_function& function, const processors& cpu) {
    std::string directory = "sys/devices/pci" + function.bridges.front().substr(0, 7);
    for (std::size_t i = 0; i < function.bridges.size(); ++i) {
        const std::string& bdf = function.bridges[i];
        const std::string& below = i + 1 < function.bridges.size() ? function.bridges[i + 1] : function.bdf;
        pci_function bridge = function;
        bridge.vendor = bridge_vendor;
        bridge.device = bridge_device;
        bridge.class_code = bridge_class;
        bridge.subsystem_vendor = bridge.subsystem_device = bridge.revision = 0;
        bridge.driver = "pcieport";
        directory += "/" + bdf;
        put_function(out, directory, bdf, bridge, cpu);
        out.put(directory + "/config", configuration(bridge, bdf, true, bus(below), bus(function.bdf)));
        out.line(directory + "/secondary_bus_number", std::to_string(bus(below)));
        out.line(directory + "/subordinate_bus_number", std::to_string(bus(function.bdf)));
    }
    directory = pci_directory(function);
    put_function(out, directory, function.bdf, function, cpu);
    out.put(directory + "/config", configuration(function, function.bdf, false, 0, 0));
    if (!function.network.empty()) {
        const std::string interface = directory + "/net/" + function.network;
        out.line(interface + "/address", "02:00:00:00:" + function.bdf.substr(5, 2) + ":01");
        out.line(interface + "/operstate", "up");
        out.link(interface + "/device", directory);
        out.link("sys/class/net/" + function.network, interface);
    }
}

} // namespace sim
