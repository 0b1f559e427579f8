// What discovery says about links, and what it does not say of machines that are built in their own way.
#include "discovered.hpp"

using namespace amd_gpu;
using test::find;
using test::listing;
using test::look;
using test::says;

namespace {

/// GPUs of one product at buses 0x10, 0x11 ...: MI300X in a hive, or what the device id says.
class row : public test::sysfs_tree {
  public:
    explicit row(int count, const std::string& device = "0x74a1", const std::string& hive = "hive_id 77\n",
                 unsigned version = 90402)
        : count_(count) {
        for (int i = 0; i < count; ++i) {
            pci(bdf(i), "0x1002", device, "0x120000", "amdgpu");
            kfd_gpu(i, 10U + static_cast<unsigned>(i), (0x10UL + static_cast<unsigned long>(i)) << 8, version,
                    0x14000000, hive + fmt::format("unique_id {}\n", 100 + i));
        }
    }
    static std::string bdf(int i) { return fmt::format("0000:{:02x}:00.0", 0x10 + i); }
    /// A direct xGMI link both ways.
    void join(int a, int b) const {
        io_link(a, b, 11, 15, 50000, 50000);
        io_link(b, a, 11, 15, 50000, 50000);
    }
    void join_all() const {
        for (int a = 0; a < count_; ++a) {
            for (int b = a + 1; b < count_; ++b)
                join(a, b);
        }
    }
    [[nodiscard]] node seen() const {
        std::vector<unsigned long> ids;
        for (int i = 0; i < count_; ++i)
            ids.push_back((0x10UL + static_cast<unsigned long>(i)) << 8);
        return look(*this, listing(ids));
    }

  private:
    int count_;
};

} // namespace

TEST_CASE("the direct peers of a node of four MI250X are found by bandwidth", "[findings][links][case:TOPO-2]") {
    // Rows of GCDs in PCI order, links that run in parallel; two hops have an entry of weight 30 without bandwidth, and
    // the hop count that SMI makes of both is 1.
    constexpr std::array<std::string_view, 8> matrix = {"04100020", "40010100", "10042000", "01400001",
                                                        "00200410", "01004001", "20001004", "00010140"};
    const row tree(8, "0x7408", "hive_id 77\n", 90010);
    for (int a = 0; a < 8; ++a) {
        for (int b = 0; b < 8; ++b) {
            const auto links = static_cast<unsigned long>(matrix[a][b] - '0');
            if (a != b)
                tree.io_link(a, b, 11, links > 0 ? 15 : 30, links > 0 ? 50000 : 0, links * 50000);
        }
    }
    const auto n = tree.seen();
    REQUIRE(n.findings.empty());
    for (uint32_t a = 0; a < 8; ++a) {
        for (uint32_t b = 0; b < 8; ++b) {
            const auto links = static_cast<uint32_t>(matrix[a][b] - '0');
            const auto* direct = find_link(n, a, b);
            REQUIRE((direct != nullptr) == (links > 0));
            if (direct != nullptr)
                REQUIRE(direct->links == links);
        }
    }
}

TEST_CASE("a product without xGMI lacks nothing", "[findings][links][case:TOPO-3]") {
    const row tree(4, "0x740f", "hive_id 0\n", 90010);
    REQUIRE(tree.seen().findings.empty());
    for (int a = 0; a < 4; ++a) {
        for (int b = 0; b < 4; ++b) {
            if (a != b)
                tree.write(test::sysfs_tree::kfd(a) + fmt::format("/p2p_links/{}/properties", b),
                           fmt::format("type 2\nnode_from {}\nnode_to {}\nweight 52\nmin_bandwidth 312\n"
                                       "max_bandwidth 32000\n",
                                       a, b));
        }
    }
    const auto n = tree.seen();
    REQUIRE(n.findings.empty());
    REQUIRE(n.links.size() == 12);
    REQUIRE(n.links[0].type == "pcie");
}

TEST_CASE("hive zero is no hive", "[findings][links][case:TOPO-4]") {
    const row tree(8, "0x66a0", "hive_id 0\n", 90006);
    const auto n = tree.seen();
    REQUIRE(n.findings.empty());
    for (const auto& g : n.gcds)
        REQUIRE_FALSE(g.hive);
}

TEST_CASE("nothing is made of the bandwidth of a link but its number of links", "[findings][links][case:TOPO-7]") {
    // Gen 4 x16 to the near and the far socket looks alike; no place follows from it.
    const row tree(2, "0x740f", "hive_id 0\n", 90010);
    for (const int i : {0, 1}) {
        tree.write(test::sysfs_tree::pci_file(row::bdf(i), "numa_node"), "-1\n");
        tree.io_link(i, 7, 2, 20, 312, 32000);
    }
    const auto n = tree.seen();
    REQUIRE(n.links.empty());
    for (const auto& g : n.gcds) {
        REQUIRE_FALSE(g.numa);
        REQUIRE(g.cores.empty());
    }
}

TEST_CASE("a GCD with fewer direct peers than the others is noted", "[findings][links]") {
    const row tree(4);
    tree.join_all();
    REQUIRE(tree.seen().findings.empty());
    tree.remove(test::sysfs_tree::kfd(0) + "/io_links/1");
    tree.remove(test::sysfs_tree::kfd(1) + "/io_links/0");
    tree.remove(test::sysfs_tree::kfd(0) + "/io_links/2");
    tree.remove(test::sysfs_tree::kfd(2) + "/io_links/0");
    tree.join(1, 2);
    const auto n = tree.seen();
    REQUIRE(find(n, "links")->level == finding::severity::note);
    REQUIRE(says(find(n, "links"), "0000:10:00.0 has direct xGMI links to 1 others, most of its product here have "));
}

TEST_CASE("partitions that tell a bandwidth one way only lack no link", "[findings][links][case:PART-6]") {
    const test::sysfs_tree tree;
    tree.pci("0000:10:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
    tree.pci("0000:11:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
    tree.write(test::sysfs_tree::pci_file("0000:10:00.0", "current_compute_partition"), "DPX\n");
    tree.kfd_gpu(1, 1, 0x1000, 90402, 0x14000000, "unique_id 1\n");
    tree.kfd_gpu(2, 2, 0x1000 | 1UL << 28, 90402, 0x14000000, "unique_id 2\n");
    tree.kfd_gpu(3, 3, 0x1100, 90402, 0x14000000, "unique_id 3\n");
    for (const int partition : {1, 2}) {
        tree.io_link(3, partition, 11, 15, 50000, 50000);
        tree.io_link(partition, 3, 11, 15, 0, 0);
    }
    REQUIRE_FALSE(find(look(tree, listing({0x1000, 0x1100})), "links"));
}

TEST_CASE("a link to the host with fewer lanes than its like is noted with what was read",
          "[findings][pcie][case:RSMI-13]") {
    const row tree(4);
    tree.join_all();
    tree.write(test::sysfs_tree::pci_file(row::bdf(2), "current_link_width"), "8\n");
    tree.write(test::sysfs_tree::pci_file(row::bdf(2), "current_link_speed"), "8.0 GT/s PCIe\n");
    const auto n = tree.seen();
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::note);
    REQUIRE(says(find(n, "pcie"), "0000:12:00.0 has a PCIe link of 8 lanes at 8 GT/s, most of its product here have "
                                  "16; reseat"));
    // A device that answers with ones says nothing of its link.
    tree.write(test::sysfs_tree::pci_file(row::bdf(2), "current_link_width"), "63\n");
    REQUIRE(tree.seen().findings.empty());
}
