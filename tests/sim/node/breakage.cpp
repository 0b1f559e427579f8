// How each fault in the files changes a model (see breakage.hpp).
#include "tests/sim/node/breakage.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sim {
namespace {

/// Indices of the model's GCDs in the order of their PCI addresses: fault files count in that order.
std::vector<std::size_t> pci_order(const model& m) {
    std::vector<std::size_t> order(m.gcds.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), // the partitions of a function stay in order
                     [&](std::size_t a, std::size_t b) { return m.gcds[a].pci.bdf < m.gcds[b].pci.bdf; });
    return order;
}

void set_temperature(gcd& g, double celsius) {
    for (auto& [path, text] : g.files) {
        if (path.rfind("hwmon/temp", 0) == 0 && path.size() > 6 && path.substr(path.size() - 6) == "_input") {
            text = std::to_string(std::lround(celsius * 1000));
        }
    }
    for (auto& [name, value] : g.metrics) {
        if (name.rfind("temperature_", 0) == 0) {
            value = std::lround(celsius);
        }
    }
}

std::string whole(double value) {
    return std::to_string(static_cast<long long>(value));
}

/// Applies FAULT to G; returns what is wrong with it.
std::string apply(model& m, std::size_t index, const fault& f, const std::vector<std::size_t>& order) {
    gcd& g = m.gcds[index];
    if (f.kind == "missing") {
        g.missing = true;
    } else if (f.kind == "ras") {
        const std::string path = "ras/" + f.text("block") + "_err_count";
        if (g.files.count(path) == 0) {
            return "this GCD has no " + path;
        }
        g.files[path] = "ue: " + whole(f.number("ue")) + "\nce: " + whole(f.number("ce"));
    } else if (f.kind == "pcie") {
        g.pci.link_width_now = static_cast<int>(f.number("width"));
    } else if (f.kind == "temperature") {
        set_temperature(g, f.number("c"));
    } else if (f.kind == "ghost_memory") {
        g.ghost_bytes = static_cast<std::int64_t>(f.number("bytes"));
    } else if (f.kind == "link") {
        const auto to = static_cast<std::size_t>(f.number("to"));
        if (to >= order.size() || order[to] == index) {
            return "there is no link to GCD " + std::to_string(to);
        }
        if (f.number("scale") <= 0) {
            m.links[index][order[to]] = m.links[order[to]][index] = -1;
        }
    }
    return "";
}

} // namespace

status apply_faults(model& model, const std::string& text, const std::string& name) {
    const fault_list list = parse_faults(text);
    const auto bad = [&](int line, const std::string& what) {
        return error{error_code::usage, name + ":" + std::to_string(line) + ": " + what};
    };
    if (!list.good()) {
        return bad(list.line, list.problem);
    }
    const std::vector<std::size_t> order = pci_order(model);
    for (const fault& f : list.faults) {
        if (f.gcd < 0) {
            continue;
        }
        if (static_cast<std::size_t>(f.gcd) >= order.size()) {
            return bad(f.line, "gcd=" + std::to_string(f.gcd) + ", but the model has " + std::to_string(order.size()) +
                                   " GCDs");
        }
        if (const std::string wrong = apply(model, order[static_cast<std::size_t>(f.gcd)], f, order); !wrong.empty()) {
            return bad(f.line, wrong);
        }
    }
    return success();
}

} // namespace sim
