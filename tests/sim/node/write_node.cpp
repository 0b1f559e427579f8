// The whole tree of a node, in the order in which later parts may replace earlier ones.
#include "tests/sim/node/writers.hpp"

namespace sim {

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

} // namespace sim
