// The whole tree of a node, in the order in which later parts may replace earlier ones.
#include "tests/sim/node/writers.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace sim {
namespace {

/// The host's modules, and the driver when there is something for it.
std::string modules_of(const model& m) {
    std::ifstream file("/proc/modules");
    const std::string host{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return (m.gcds.empty() ? "" : "amdgpu 9883648 0 - Live 0x0000000000000000\n") + host;
}

} // namespace

status write_node(const std::string& root, const placed_node& node) {
    const model& m = *node.model;
    tree out(root);
    write_processors(out, m.processors);
    for (const gcd& g : m.gcds) {
        if (g.partition != 0) {
            continue;
        }
        pci_function function = g.pci;
        if (g.missing) {
            function.driver.clear();
        }
        write_pci(out, function, m.processors);
    }
    for (const pci_function& function : m.pci) {
        write_pci(out, function, m.processors);
    }
    write_gpus(out, node);
    write_kfd(out, node);
    for (const char* directory : {"sys/block", "sys/class/net", "sys/dev/block", "sys/dev/char", "sys/firmware",
                                  "sys/fs/cgroup", "sys/kernel/debug", "sys/module", "sys/power"}) {
        out.directory(directory);
    }
    out.line("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    out.line("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0");
    out.link("sys/class/dmi/id", "sys/devices/virtual/dmi/id");
    out.put("proc/modules", modules_of(m));
    for (const auto& [path, text] : m.files) {
        out.line(path, text);
    }
    for (const auto& [path, target] : m.symlinks) {
        out.link(path, target);
    }
    for (const std::string& path : m.remove) {
        out.remove(path);
    }
    return out.outcome();
}

node_view view_of(const placed_node& node) {
    const model& m = *node.model;
    node_view view;
    view.model = m.source;
    view.cpus = m.processors.cpus_of_cores(0, m.processors.cores());
    std::sort(view.cpus.begin(), view.cpus.end());
    for (int number = 0; number < m.processors.numa_nodes(); ++number) {
        view.numa.push_back(number);
    }
    for (const placed_gcd& g : node.gcds) {
        view.drm.push_back("card" + std::to_string(g.card));
        view.drm.push_back("renderD" + std::to_string(g.render_minor));
    }
    for (const idle_drm& idle : node.idle) {
        view.drm.push_back("card" + std::to_string(idle.card));
        view.drm.push_back("renderD" + std::to_string(idle.render_minor));
    }
    view.kfd = !m.gcds.empty();
    view.write = [&node](const std::string& root) { return write_node(root, node); };
    return view;
}

} // namespace sim
