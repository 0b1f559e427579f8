// Which driver there is: AMD's package, the kernel's own, or none.
#include "discovered.hpp"
#include "discovery/driver.hpp"
#include "discovery/kernel_log.hpp"

#include <filesystem>

using namespace amd_gpu;
using test::find;
using test::listing;
using test::look;
using test::says;

TEST_CASE("a driver of a package has a version, the kernel's own has that of its kernel", "[driver][case:VER-5]") {
    const test::two_dies tree;
    tree.write("sys/module/amdgpu/srcversion", "AB12\n");
    REQUIRE(read_driver(tree.where()).text() == "in-tree, kernel 6.6.0-test");
    tree.write("sys/module/amdgpu/version", "6.7.0\n");
    REQUIRE(read_driver(tree.where()).text() == "6.7.0 (DKMS)");
    REQUIRE(look(tree).versions.at("driver") == "6.7.0 (DKMS)");
}

TEST_CASE("a driver that is not loaded is told from one of which nothing is known", "[driver][case:MISS-4]") {
    const test::two_dies tree;
    REQUIRE_FALSE(read_driver(tree.where()).loaded);
    tree.write("sys/module/drm/initstate", "live\n");
    REQUIRE(read_driver(tree.where()).loaded == false);
    REQUIRE_FALSE(read_driver(tree.where()).text());
    REQUIRE_FALSE(look(tree).versions.contains("driver"));
}

TEST_CASE("a driver that was loaded again makes an earlier discovery stale", "[driver][case:PART-6]") {
    const test::two_dies tree;
    tree.write("sys/module/amdgpu/version", "6.7.0\n");
    const auto before = topology_generation(tree.where());
    tree.write("sys/module/amdgpu/refcnt", "8\n");
    REQUIRE(topology_generation(tree.where()) == before);
    // Made while the first is there, so that it cannot be the same directory.
    tree.write("sys/module/next/version", "6.7.0\n");
    tree.remove("sys/module/amdgpu");
    std::filesystem::rename(tree.path("sys/module/next"), tree.path("sys/module/amdgpu"));
    REQUIRE(topology_generation(tree.where()) != before);
}

TEST_CASE("seven of eight name the eighth, none of eight names them all", "[driver][missing][case:MISS-1]") {
    const test::sysfs_tree tree;
    tree.write("sys/module/amdgpu/version", "6.7.0\n");
    const auto bdf = [](int i) { return fmt::format("0000:{:02x}:00.0", 0x10 + i); };
    std::vector<unsigned long> ids;
    for (int i = 0; i < 8; ++i) {
        const auto bus = 0x10UL + static_cast<unsigned long>(i);
        tree.pci(bdf(i), "0x1002", "0x74a1", "0x120000", i == 3 ? "" : "amdgpu");
        if (i == 3)
            continue;
        tree.kfd_gpu(1 + i, 10U + static_cast<unsigned>(i), bus << 8, 90402, 0x14000000,
                     fmt::format("unique_id {}\n", 100 + i));
        ids.push_back(bus << 8);
    }
    const auto seven = look(tree, listing(ids));
    REQUIRE(seven.findings.size() == 1);
    REQUIRE(seven.findings[0].level == finding::severity::fault);
    REQUIRE(seven.findings[0].bdf == pci_address{0, 0x13, 0, 0});
    REQUIRE(says(find(seven, "gpu_count"), "8 GPUs on PCI, 7 in KFD; no driver bound: 0000:13:00.0; see the kernel"));

    for (int i = 0; i < 8; ++i) {
        tree.remove(test::sysfs_tree::pci_file(bdf(i), "driver"));
        tree.remove(test::sysfs_tree::kfd(1 + i));
    }
    tree.kfd_cpu(0); // the driver is there and offers its topology, with CPUs alone
    const auto none = look(tree, listing({}));
    REQUIRE(none.findings.size() == 1);
    REQUIRE_FALSE(none.findings[0].bdf);
    REQUIRE(says(find(none, "driver"), "8 GPUs on PCI, 0 bound: the driver amdgpu 6.7.0 (DKMS) is loaded, but drives "
                                       "none of them: 0000:10:00.0 0000:11:00.0"));
    REQUIRE(says(find(none, "driver"), "power cycle the node, then suspect the hardware"));
}

TEST_CASE("the kernel's log tells with which error the driver gave a GPU up", "[driver][missing][case:MISS-2]") {
    const auto errors =
        parse_probe_errors("3,1200,5000,-;amdgpu 0000:c1:00.0: probe with driver amdgpu failed with error -22\n"
                           " SUBSYSTEM=pci\n"
                           "[    9.1] amdgpu: probe of 0000:c6:00.0 failed with error -12\n"
                           "[    9.2] amdgpu 0000:c9:00.0: amdgpu: Fatal error during GPU init\n"
                           "[    9.3] nvme 0000:01:00.0: probe with driver nvme failed with error -12\n"
                           "[    9.4] amdgpu: probe of nothing failed with error -12\n"
                           "[    9.5] amdgpu: probe of 0000:ce:00.0 failed with error -x\n"
                           "[    9.6] amdgpu 0000:c1:00.0: probe with driver amdgpu failed with error -12\n");
    REQUIRE(errors == probe_errors{{{0, 0xc1, 0, 0}, 12}, {{0, 0xc6, 0, 0}, 12}});
    REQUIRE(probe_error_text(12) == "error -12 (Cannot allocate memory)");
    REQUIRE(parse_probe_errors("").empty());
    REQUIRE(read_probe_errors({"", "", "", "/no/such/log"}).empty());
}

TEST_CASE("a finding has the error of the log beside the proof", "[driver][missing][case:MISS-2][case:MISS-3]") {
    const test::two_dies tree;
    tree.write("sys/module/amdgpu/version", "6.7.0\n");
    tree.write("kmsg", "3,1,2,-;amdgpu 0000:c6:00.0: probe with driver amdgpu failed with error -12\n");
    auto where = tree.where();
    where.kmsg = tree.path("kmsg");
    tree.remove(test::sysfs_tree::pci_file("0000:c6:00.0", "driver"));
    tree.remove(test::sysfs_tree::kfd(2));
    const auto one = discover({}, deadline::in(std::chrono::seconds(5)), where, listing({0xc100}));
    REQUIRE(says(find(*one, "gpu_count"),
                 "no driver bound: 0000:c6:00.0; the kernel log has error -12 (Cannot allocate "
                 "memory) for 0000:c6:00.0; see the kernel log, power cycle"));

    tree.write("kmsg", "3,1,2,-;amdgpu 0000:c6:00.0: probe with driver amdgpu failed with error -12\n"
                       "3,2,3,-;amdgpu 0000:c1:00.0: probe with driver amdgpu failed with error -12\n");
    tree.remove(test::sysfs_tree::pci_file("0000:c1:00.0", "driver"));
    tree.remove(test::sysfs_tree::kfd(1));
    const auto all = discover({}, deadline::in(std::chrono::seconds(5)), where, listing({}));
    REQUIRE(says(find(*all, "driver"), "the kernel log has error -12 (Cannot allocate memory) for all; see"));
}
