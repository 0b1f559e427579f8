// Partitions of one PCI function: their numbers, and the modes of the package that only the function tells.
#include "discovery/merge.hpp"
#include "node/json.hpp"
#include "sysfs_tree.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

/// The GCDs of `boards` MI300X functions with `parts` partitions each, every one with `bytes` in its mem_banks, on
/// boards whose driver says `vram`.
std::vector<gcd> partitioned(unsigned boards, unsigned parts, uint64_t bytes, const std::string& vram,
                             const std::string& mode = "CPX") {
    const test::sysfs_tree tree;
    int node = 1;
    for (unsigned board = 0; board < boards; ++board) {
        const std::string bdf = pci_address{0, 0x10 + board, 0, 0}.text();
        tree.pci(bdf, "0x1002", "0x74a1", "0x120000", "amdgpu");
        tree.write(test::sysfs_tree::pci_file(bdf, "mem_info_vram_total"), vram + "\n");
        tree.write(test::sysfs_tree::pci_file(bdf, "current_compute_partition"), mode + "\n");
        std::filesystem::create_directories(tree.path(test::sysfs_tree::pci_file(bdf, "drm/renderD90")));
        for (unsigned part = 0; part < parts; ++part, ++node) {
            tree.kfd_gpu(node, 100U + static_cast<unsigned>(node), (0x10UL + board) << 8, 90402);
            tree.write(test::sysfs_tree::kfd(node) + "/mem_banks/0/properties",
                       "heap_type 1\nsize_in_bytes " + std::to_string(bytes) + "\n");
        }
    }
    return join(read_pci(tree.where()), read_kfd(tree.where()));
}

/// What all of them say, or nothing when they differ.
std::optional<uint32_t> sharing(const std::vector<gcd>& gcds) {
    for (const auto& g : gcds) {
        if (g.memory_shared_by != gcds.front().memory_shared_by)
            return std::nullopt;
    }
    return gcds.front().memory_shared_by;
}

} // namespace

TEST_CASE("partitions whose location bits are all alike are numbered in the driver's order",
          "[discovery][kfd][case:PART-2]") {
    const test::sysfs_tree tree;
    for (int p = 0; p < 6; ++p)
        tree.kfd_gpu(4 + p, 10U + static_cast<unsigned>(p), 0x0200, 90402, 0, "num_xcc 1\n");
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.devices.size() == 6);
    for (uint32_t p = 0; p < 6; ++p) {
        REQUIRE(kfd.devices[p].partition == p);
        REQUIRE(kfd.devices[p].node == 4 + p);
        REQUIRE(kfd.devices[p].xccs == 1U);
    }
}

TEST_CASE("every partition has the modes of its function", "[discovery][pci][case:PART-1]") {
    const test::sysfs_tree tree;
    const std::string function = "sys/bus/pci/devices/0000:02:00.0";
    tree.pci("0000:02:00.0", "0x1002", "0x74a0", "0x120000", "amdgpu");
    tree.write(function + "/current_compute_partition", "TPX\n");
    tree.write(function + "/current_memory_partition", "NPS1\n");
    tree.write(function + "/mem_info_vram_total", "137438953472\n");
    tree.write(function + "/vbios_version", "113-MI300A\n");
    for (int p = 0; p < 3; ++p)
        tree.kfd_gpu(4 + p, 10U + static_cast<unsigned>(p), 0x0200, 90402);
    const auto gcds = join(read_pci(tree.where()), read_kfd(tree.where()));
    REQUIRE(gcds.size() == 3);
    for (const auto& g : gcds) {
        REQUIRE(g.compute_partition == "TPX");
        REQUIRE(g.memory_partition == "NPS1");
        REQUIRE(g.vram_bytes == 137438953472U);
        REQUIRE(g.vbios == "113-MI300A");
        REQUIRE_FALSE(g.xccs);
        REQUIRE(g.sources.at("compute_partition") == "pci: devices/0000:02:00.0/current_compute_partition");
    }
}

TEST_CASE("a partition mode that is no mode is unknown", "[discovery][pci][case:PART-9]") {
    const test::sysfs_tree tree;
    const std::string function = "sys/bus/pci/devices/0000:02:00.0";
    tree.pci("0000:02:00.0", "0x1002", "0x74a0", "0x120000", "amdgpu");
    for (const char* odd : {"UNKNOWN\n", "\n", "CPX garbage\n", "65535\n"}) {
        tree.write(function + "/current_compute_partition", odd);
        tree.write(function + "/current_memory_partition", odd);
        const auto pci = read_pci(tree.where());
        REQUIRE(pci.gpus.size() == 1);
        REQUIRE_FALSE(pci.gpus[0].compute_partition);
        REQUIRE_FALSE(pci.gpus[0].memory_partition);
    }
}

TEST_CASE("a change of partition mode makes an earlier discovery stale", "[discovery][pci][case:PART-6]") {
    const test::sysfs_tree tree;
    const std::string function = "sys/bus/pci/devices/0000:02:00.0";
    tree.pci("0000:02:00.0", "0x1002", "0x74a0", "0x120000", "amdgpu");
    tree.write(function + "/current_compute_partition", "SPX\n");
    tree.write(function + "/current_memory_partition", "NPS1\n");
    REQUIRE(pci_summary(tree.where()) == "0000:02:00.0=amdgpu/SPX/NPS1 ");
    tree.write(function + "/current_compute_partition", "CPX\n");
    REQUIRE(pci_summary(tree.where()) == "0000:02:00.0=amdgpu/CPX/NPS1 ");
}

TEST_CASE("memory that each partition shows whole is told from its even parts", "[discovery][kfd][case:PART-3]") {
    const std::string board = "206141652992";
    REQUIRE(sharing(partitioned(1, 8, 25767706624, board)) == 1U);  // CPX/NPS4, as published
    REQUIRE(sharing(partitioned(2, 2, 206141652992, board)) == 2U); // DPX/NPS1, all of it to each
    REQUIRE(sharing(partitioned(1, 2, 103070826496, board)) == 1U); // DPX/NPS1, an even part to each
    REQUIRE(sharing(partitioned(1, 8, 51535413248, board)) == 2U);  // CPX/NPS4, a whole domain to each two
    REQUIRE(sharing(partitioned(1, 1, 206141652992, board, "SPX")) == 1U);
    // The sum over a node is right in all of these.
    for (const auto& [parts, bytes] : std::vector<std::pair<unsigned, uint64_t>>{{8, 25767706624}, {2, 206141652992}}) {
        uint64_t sum = 0;
        for (const auto& g : partitioned(2, parts, bytes, board))
            sum += *g.memory_bytes / *g.memory_shared_by;
        REQUIRE(sum == 2 * 206141652992U);
    }
}

TEST_CASE("how many share a memory is unknown where nothing tells", "[discovery][kfd][case:PART-3][case:APU-2]") {
    REQUIRE_FALSE(sharing(partitioned(1, 6, 118111600640, "536870912"))); // a carve-out is no measure
    REQUIRE_FALSE(sharing(partitioned(1, 6, 118111600640, "0")));
    REQUIRE_FALSE(sharing(partitioned(1, 2, 150000000000, "206141652992")));
    REQUIRE_FALSE(sharing(partitioned(1, 1, 206141652992, "206141652992", "CPX"))); // the others are hidden

    const test::two_dies tree;
    auto kfd = read_kfd(tree.where());
    REQUIRE(join(read_pci(tree.where()), kfd)[0].memory_shared_by == 1U);
    kfd.devices[0].memory_bytes.reset();
    REQUIRE_FALSE(join(read_pci(tree.where()), kfd)[0].memory_shared_by);
}

TEST_CASE("a partition is never given the render node of its function", "[discovery][kfd][case:PART-4]") {
    for (const auto& g : partitioned(1, 8, 25767706624, "206141652992"))
        REQUIRE(g.render_minor != 90U);

    const test::sysfs_tree tree; // a kernel whose KFD does not tell render minors
    tree.pci("0000:10:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
    std::filesystem::create_directories(tree.path(test::sysfs_tree::pci_file("0000:10:00.0", "drm/renderD128")));
    for (int part = 0; part < 2; ++part)
        tree.kfd_gpu(1 + part, 7, 0x1000, 90402, 0, "drm_render_minor 0\n");
    const auto gcds = join(read_pci(tree.where()), read_kfd(tree.where()));
    REQUIRE(gcds.at(0).render_minor == 128U);
    REQUIRE_FALSE(gcds.at(1).render_minor);
}

TEST_CASE("72 partitions are 72 GCDs on nine packages, and stay so in JSON", "[discovery][kfd][case:PART-5]") {
    node n;
    n.gcds = partitioned(9, 8, 25767706624, "206141652992");
    set_packages(n.gcds, {}, {});
    REQUIRE(n.gcds.size() == 72);
    for (uint32_t i = 0; i < 72; ++i) {
        REQUIRE(n.gcds[i].index == i);
        REQUIRE(n.gcds[i].partition == i % 8);
        REQUIRE(n.gcds[i].package == i / 8);
    }
    const auto back = node_from_json(json_text(n));
    REQUIRE(back);
    REQUIRE(back->gcds.size() == 72);
    REQUIRE(back->gcds[71].id() == n.gcds[71].id());
    REQUIRE(json_text(*back) == json_text(n));
}
