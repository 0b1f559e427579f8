// Numbers and ids of one simulated node (see identity.hpp).
#include "tests/sim/node/identity.hpp"

#include <algorithm>

namespace sim {
namespace {

/// A well mixed 64-bit number for a text (FNV-1a, then the finaliser of splitmix64).
std::uint64_t hash(const std::string& text) {
    std::uint64_t value = 0xcbf29ce484222325ULL;
    for (const char c : text) {
        value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31);
}

bool has_links(const std::vector<int>& row) {
    return std::any_of(row.begin(), row.end(), [](int links) { return links > 0; });
}

} // namespace

placed_node place(const model& model, const std::string& salt) {
    const std::string seed = model.name + "/" + salt + "/";
    placed_node node{&model, {}};
    for (std::size_t i = 0; i < model.gcds.size(); ++i) {
        const gcd& g = model.gcds[i];
        if (g.missing) {
            continue;
        }
        const int n = static_cast<int>(node.gcds.size());
        placed_gcd placed;
        placed.what = &g;
        placed.index = i;
        placed.card = n;
        placed.render_minor = first_render_minor + n;
        placed.kfd_node = model.processors.numa_nodes() + n;
        placed.unique_id = hash(seed + g.pci.bdf) >> 1 | 1;
        placed.hive_id = has_links(model.links[i]) ? hash(seed + "hive") >> 1 | 1 : 0;
        placed.serial =
            std::to_string(hash(seed + "package" + std::to_string(g.package)) % 900000000000 + 100000000000);
        placed.device = pci_directory(g.pci);
        placed.gpu_id = static_cast<unsigned>(placed.unique_id % 64000 + 1);
        const auto taken = [&](const placed_gcd& other) { return other.gpu_id == placed.gpu_id; };
        while (std::any_of(node.gcds.begin(), node.gcds.end(), taken)) {
            ++placed.gpu_id;
        }
        node.gcds.push_back(placed);
    }
    return node;
}

int hops(const placed_node& node, const placed_gcd& from, const placed_gcd& to) {
    std::vector<int> distance(node.model->gcds.size(), -1);
    std::vector<std::size_t> reached{from.index};
    distance[from.index] = 0;
    for (std::size_t at = 0; at < reached.size(); ++at) {
        for (const placed_gcd& next : node.gcds) {
            if (distance[next.index] < 0 && node.model->links[reached[at]][next.index] > 0) {
                distance[next.index] = distance[reached[at]] + 1;
                reached.push_back(next.index);
            }
        }
    }
    return node.model->links[from.index][to.index] < 0 ? -1 : distance[to.index];
}

std::string pci_directory(const pci_function& function) {
    std::string path = "sys/devices/pci" + function.bridges.front().substr(0, 7);
    for (const std::string& bridge : function.bridges) {
        path += "/" + bridge;
    }
    return path + "/" + function.bdf;
}

} // namespace sim
