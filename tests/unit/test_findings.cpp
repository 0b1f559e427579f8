// What discovery says about a node's GPUs as a whole: how many there are, by whom they are known, what differs.
#include "discovered.hpp"
#include "discovery/compare.hpp"

using namespace amd_gpu;
using test::find;
using test::listing;
using test::look;
using test::says;

namespace {

/// Boards of MI300X at buses 0x10, 0x11 ..., each with so many partitions, in these modes.
class boards : public test::sysfs_tree {
  public:
    struct board {
        int partitions;
        std::string compute;
        std::string memory;
    };

    explicit boards(const std::vector<board>& list) {
        kfd_cpu(0);
        int node = 1;
        std::vector<int> first; // node of each board, linked with those of all others
        for (std::size_t i = 0; i < list.size(); ++i) {
            const auto bus = 0x10UL + i;
            const auto bdf = fmt::format("0000:{:02x}:00.0", bus);
            pci(bdf, "0x1002", "0x74a1", "0x120000", "amdgpu");
            if (!list[i].compute.empty())
                write(pci_file(bdf, "current_compute_partition"), list[i].compute + "\n");
            if (!list[i].memory.empty())
                write(pci_file(bdf, "current_memory_partition"), list[i].memory + "\n");
            for (const int other : first) {
                io_link(node, other, 11, 15, 50000, 50000);
                io_link(other, node, 11, 15, 50000, 50000);
            }
            first.push_back(node);
            for (int p = 0; p < list[i].partitions; ++p, ++node) {
                kfd_gpu(node, static_cast<unsigned>(node), bus << 8 | static_cast<unsigned long>(p) << 28, 90402,
                        0x14000000, fmt::format("unique_id {}\n", 1000 + node));
            }
        }
    }
    /// A reader that knows no partitions: each board once.
    [[nodiscard]] static std::vector<std::string> each_once(std::size_t count) {
        std::vector<unsigned long> ids;
        for (std::size_t i = 0; i < count; ++i)
            ids.push_back((0x10UL + i) << 8);
        return listing(ids);
    }
};

/// Findings of a node that has these GCDs and no source to compare them with.
std::vector<finding> findings_of(std::vector<gcd> gcds, std::vector<amd_gpu::link> links = {}) {
    node n;
    for (uint32_t index = 0; auto& g : gcds) {
        g.index = index++;
        g.bound = true;
        g.kfd_node = g.index + 1;
        if (!g.unique_id)
            g.unique_id = g.index + 1;
        if (!g.target)
            g.target = target_id{"gfx90a"};
    }
    n.gcds = std::move(gcds);
    n.links = std::move(links);
    observations seen;
    seen.pci.readable = true;
    seen.kfd.present = true;
    return compare(seen, n, std::nullopt);
}

gcd at(uint32_t bus) {
    gcd g;
    g.bdf = {0, bus, 0, 0};
    return g;
}

} // namespace

// ---- counts ----

TEST_CASE("a library that knows no partitions misses none of them", "[findings][smi][case:PART-1][case:PART-7]") {
    const boards tree({{8, "CPX", "NPS4"}, {8, "CPX", "NPS4"}});
    const auto n = look(tree, boards::each_once(2), 16);
    REQUIRE(n.sources.pci == 2U);
    REQUIRE(n.sources.kfd == 16U);
    REQUIRE(n.sources.smi == 2U);
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::note);
    REQUIRE(says(find(n, "smi"), "knows no partitions: it lists 2 boards that KFD shows as 16 partitions"));
}

TEST_CASE("a library that knows partitions and lists too few of them is told by their ids",
          "[findings][smi][case:PART-7]") {
    const boards tree({{3, "TPX", "NPS1"}, {3, "TPX", "NPS1"}});
    const auto n = look(tree, listing({0x1000, 0x1000 | 1UL << 28, 0x1100, 0x1100 | 1UL << 28, 0x1100 | 2UL << 28}));
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::warning);
    REQUIRE(says(find(n, "gpu_count"), "6 GPUs in KFD, 5 in SMI; not listed by SMI: 0000:10:00.0/2;"));
}

TEST_CASE("64 and 72 partitions in one list", "[findings][case:PART-5]") {
    const std::size_t count = GENERATE(8U, 9U);
    const boards tree(std::vector<boards::board>(count, {8, "CPX", "NPS4"}));
    REQUIRE(look(tree, boards::each_once(count), static_cast<uint32_t>(count) * 8).findings.size() == 1);
    const auto none = look(tree, listing({}));
    REQUIRE(says(find(none, "gpu_count"), fmt::format("{} GPUs in KFD, 0 in SMI", count * 8)));
    REQUIRE(says(find(none, "gpu_count"), "0000:10:00.0/0 0000:10:00.0/1"));
}

TEST_CASE("a GPU that only SMI lists is named", "[findings][smi]") {
    const test::two_dies tree;
    const auto n = look(tree, listing({0xc100, 0xc600, 0xd100}));
    REQUIRE(n.findings.size() == 1);
    REQUIRE(says(find(n, "gpu_count"), "in SMI but not in KFD: 0000:d1:00.0"));
}

TEST_CASE("all GPUs bound to a driver without KFD are one finding", "[findings][missing]") {
    const test::two_dies tree;
    tree.remove("sys/class/kfd");
    const auto n = look(tree, {"/bin/echo", R"({"start_error":"rsmi_init failed with status 8"})"});
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::fault);
    REQUIRE(says(find(n, "driver"), "amdgpu is bound to 2 GPUs, but it offers no KFD: 0000:c1:00.0 0000:c6:00.0"));
}

// ---- partition modes ----

TEST_CASE("boards in different modes are listed by mode", "[findings][partitions][case:PART-6]") {
    const boards tree({{8, "CPX", "NPS4"}, {8, "CPX", "NPS4"}, {8, "CPX", "NPS1"}, {8, "CPX", "NPS1"}});
    const auto n = look(tree, boards::each_once(4));
    const auto* mixed = find(n, "partitions");
    REQUIRE(mixed->level == finding::severity::warning);
    REQUIRE(says(mixed, "CPX/NPS1: 0000:12:00.0 0000:13:00.0; CPX/NPS4: 0000:10:00.0 0000:11:00.0"));
    REQUIRE(n.findings.size() == 2);
}

TEST_CASE("a board that has not as many partitions as its mode says is named", "[findings][partitions][case:PART-6]") {
    const boards half_done({{2, "DPX", "NPS1"}, {1, "DPX", "NPS1"}});
    REQUIRE(says(find(look(half_done, boards::each_once(2)), "partitions"),
                 "0000:11:00.0 is in mode DPX, which is 2 partitions, but KFD has 1"));
    const boards one_less({{8, "CPX", "NPS4"}, {7, "CPX", "NPS4"}});
    REQUIRE(find(look(one_less, boards::each_once(2)), "partitions")->bdf == pci_address{0, 0x11, 0, 0});
}

TEST_CASE("a mode that cannot be read is unknown, and said where others can be",
          "[findings][partitions][case:PART-9]") {
    const boards one({{1, "SPX", "NPS1"}, {1, "65535", "UNKNOWN"}});
    const auto n = look(one, boards::each_once(2));
    const auto* odd = find(n, "partitions");
    REQUIRE(odd->bdf == pci_address{0, 0x11, 0, 0});
    REQUIRE(says(odd, "partition mode unknown"));
    const boards parts({{6, "", ""}});
    REQUIRE(says(find(look(parts, boards::each_once(1)), "partitions"), "partition mode unknown"));
    const boards old_driver({{1, "", ""}, {1, "", ""}});
    REQUIRE(look(old_driver, boards::each_once(2)).findings.empty());
}

// ---- targets ----

TEST_CASE("several targets on a node are listed in groups", "[findings][targets][case:ARCH-13]") {
    auto gcds = std::vector{at(1), at(2), at(3), at(4)};
    for (std::size_t i = 0; i < 3; ++i)
        gcds[i].target = target_id{"gfx908"};
    gcds[3].target = target_id{"gfx1030"};
    const auto findings = findings_of(gcds);
    REQUIRE(findings.size() == 1);
    REQUIRE(findings[0].level == finding::severity::note);
    REQUIRE(says(find(findings, "targets"), "gfx1030: 0000:04:00.0; gfx908: 0000:01:00.0 0000:02:00.0 0000:03:00.0"));
}

TEST_CASE("GCDs of one target in two xnack modes are listed", "[findings][targets][case:ARCH-4]") {
    auto gcds = std::vector{at(1), at(2), at(3)};
    gcds[0].xnack = false;
    gcds[1].xnack = true;
    REQUIRE(says(find(findings_of(gcds), "xnack"), "xnack+: 0000:02:00.0; xnack-: 0000:01:00.0"));
    gcds[1].xnack = false;
    REQUIRE(findings_of(gcds).empty());
}

// ---- identity ----

TEST_CASE("an id that is absent, zero or a placeholder is no id", "[findings][identity][case:RSMI-1][case:RSMI-3]") {
    const test::two_dies tree;
    const std::string bad = GENERATE("", "0000000000000000\n", "XX\n", "ffffffffffffffff\n");
    for (const char* bdf : {"0000:c1:00.0", "0000:c6:00.0"})
        tree.write(test::sysfs_tree::pci_file(bdf, "unique_id"), bad);
    const auto n = look(tree);
    REQUIRE_FALSE(n.gcds[0].unique_id);
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::note);
    REQUIRE(says(find(n, "identity"), "no unique id for 2 GPUs, known by PCI address alone: 0000:c1:00.0 0000:c6"));
}

TEST_CASE("an id that two boards carry is told with both, one of a board's partitions is not",
          "[findings][identity][case:RSMI-3]") {
    auto two = std::vector{at(1), at(2)};
    two[0].unique_id = two[1].unique_id = 0x1234;
    const auto shared = clear_shared_ids(two);
    REQUIRE(shared.size() == 1);
    REQUIRE(shared[0].text.find("0000000000001234 is that of several GPUs") != std::string::npos);
    REQUIRE_FALSE(two[0].unique_id);

    auto parts = std::vector{at(1), at(1)};
    parts[0].partition = 0;
    parts[1].partition = 1;
    parts[0].unique_id = parts[1].unique_id = 0x1234;
    REQUIRE(clear_shared_ids(parts).empty());
    REQUIRE_FALSE(parts[1].unique_id);
}

TEST_CASE("what a guest cannot see is not held against it", "[findings][identity][case:RSMI-2]") {
    auto guest = at(5);
    guest.kind = gpu_kind::virtual_function;
    node n;
    n.gcds = {guest};
    n.gcds[0].bound = true;
    n.gcds[0].target = target_id{"gfx942"};
    observations seen;
    seen.pci.readable = true;
    const auto findings = compare(seen, n, std::nullopt);
    REQUIRE(findings.size() == 1);
    REQUIRE(findings[0].level == finding::severity::note);
    REQUIRE(says(find(findings, "virtual_function"), "belong to the host"));
}

TEST_CASE("numbers of cards that moved with a boot change no identity", "[findings][identity][case:VIS-9]") {
    const test::two_dies tree;
    const auto before = look(tree);
    tree.kfd_gpu(1, 900, 0xc600, 90010, 0x14000000, "hive_id 77\n");
    tree.kfd_gpu(2, 901, 0xc100, 90010, 0x14000000, "hive_id 77\n");
    const auto after = look(tree);
    REQUIRE(before.gcds[0].render_minor != after.gcds[0].render_minor);
    for (std::size_t i = 0; i < 2; ++i) {
        REQUIRE(before.gcds[i].id() == after.gcds[i].id());
        REQUIRE(before.gcds[i].unique_id == after.gcds[i].unique_id);
    }
}

TEST_CASE("boards that are built with xGMI and have no link at all are a finding, cards are not",
          "[findings][links][case:TOPO-3]") {
    const auto unlinked = [](const char* device, unsigned version, int count) {
        test::sysfs_tree tree;
        std::vector<unsigned long> ids;
        for (int i = 1; i <= count; ++i) {
            tree.pci(fmt::format("0000:0{}:00.0", i), "0x1002", device, "0x120000", "amdgpu");
            ids.push_back(0x100UL * static_cast<unsigned long>(i));
            tree.kfd_gpu(i, 7U + static_cast<unsigned>(i), ids.back(), version);
        }
        return look(tree, listing(ids));
    };
    const auto boards = unlinked("0x74a1", 90402, 2);
    REQUIRE(says(find(boards, "links"), "no xGMI link between any of 2 GPUs MI300X"));
    REQUIRE_FALSE(find(unlinked("0x74a1", 90402, 1), "links")); // nothing to be linked with
    REQUIRE_FALSE(find(unlinked("0x740f", 90010, 4), "links")); // MI210, with or without a bridge
    REQUIRE_FALSE(find(unlinked("0x74b5", 90402, 2), "links")); // a guest's
    REQUIRE_FALSE(find(unlinked("0x744c", 110000, 2), "links"));
}
