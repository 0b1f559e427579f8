// Partitions of one PCI function: their numbers, and the modes of the package that only the function tells.
#include "discovery/merge.hpp"
#include "sysfs_tree.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

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
