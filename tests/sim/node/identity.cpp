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

constexpr int drm_devices_per_board = 8; // Linux amdgpu_xcp.h, MAX_XCP

bool has_partitions(const gcd& g) {
    return !g.compute_partition.empty();
}

bool listed(const std::vector<int>& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

std::string xcp_directory(int number) {
    return "sys/devices/platform/amdgpu_xcp." + std::to_string(number);
}

} // namespace

placed_node place(const model& model, const std::string& salt) {
    const std::string seed = model.name + "/" + salt + "/";
    placed_node node{&model, {}, {}};
    int minor = 0;
    int kfd_node = model.processors.numa_nodes();
    int xcp = 0;
    const auto next_minor = [&] {
        while (listed(model.skip_cards, minor)) {
            ++minor;
        }
        return minor++;
    };
    for (std::size_t i = 0; i < model.gcds.size(); ++i) {
        const gcd& g = model.gcds[i];
        if (!g.missing) {
            placed_gcd placed;
            placed.what = &g;
            placed.index = i;
            placed.card = next_minor();
            placed.render_minor = first_render_minor + placed.card;
            while (listed(model.skip_kfd_nodes, kfd_node)) {
                ++kfd_node;
            }
            placed.kfd_node = kfd_node++;
            placed.unique_id = (hash(seed + g.pci.bdf) >> 1 | 1) + static_cast<unsigned>(g.partition);
            placed.hive_id = has_links(model.links[i]) ? hash(seed + "hive") >> 1 | 1 : 0;
            placed.serial =
                std::to_string(hash(seed + "package" + std::to_string(g.package)) % 900000000000 + 100000000000);
            placed.device = pci_directory(g.pci);
            placed.drm = g.partition == 0 ? placed.device : xcp_directory(xcp++);
            placed.gpu_id = static_cast<unsigned>(placed.unique_id % 64000 + 1);
            const auto taken = [&](const placed_gcd& other) { return other.gpu_id == placed.gpu_id; };
            while (std::any_of(node.gcds.begin(), node.gcds.end(), taken)) {
                ++placed.gpu_id;
            }
            node.gcds.push_back(placed);
        }
        const bool last_of_board = g.partition + 1 == g.partitions;
        for (int p = g.partitions; last_of_board && has_partitions(g) && !g.missing && p < drm_devices_per_board; ++p) {
            const int card = next_minor();
            node.idle.push_back({card, first_render_minor + card, xcp_directory(xcp++)});
        }
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
