// Discovery as a whole on small trees: joining, links, packages, and what a disagreement of the sources says.
#include "discovered.hpp"
#include "discovery/compare.hpp"

using namespace amd_gpu;
using test::both;
using test::find;
using test::listing;
using test::look;
using test::says;

TEST_CASE("a healthy node has no finding and three equal counts", "[discovery]") {
    const test::two_dies tree;
    const auto n = look(tree, both, 2);
    REQUIRE(n.findings.empty());
    REQUIRE(n.sources.pci == 2U);
    REQUIRE(n.sources.kfd == 2U);
    REQUIRE(n.sources.smi == 2U);
    REQUIRE(n.gcds.size() == 2);
    REQUIRE(n.gcds[0].bound);
    REQUIRE(n.gcds[0].target->text() == "gfx90a:sramecc+");
    REQUIRE(n.gcds[0].unique_id == 0x1a2b3c4d5e6f7081U);
    REQUIRE(n.gcds[0].pci_device == 0x7408U);
    REQUIRE(n.gcds[1].smi_index == 1U);
    REQUIRE(n.gcds[0].package == 0U);
    REQUIRE(n.gcds[1].package == 0U);
    REQUIRE(n.gcds[0].sources.at("memory_bytes") == "kfd: topology/nodes/1/mem_banks");
    REQUIRE(n.links.size() == 2);
    REQUIRE(find_link(n, 0, 1)->links == 4U);
    REQUIRE(find_link(n, 0, 1)->gb_per_s == 200.0);
    REQUIRE(n.boot_id == "11111111-2222-3333-4444-555555555555");
    REQUIRE(n.versions.at("kernel") == "6.6.0-test");
}

TEST_CASE("SMI's order is joined by PCI address", "[discovery][case:VIS-4]") {
    const test::two_dies tree;
    const auto n = look(tree, listing({0xc600, 0xc100}));
    REQUIRE(n.gcds[0].smi_index == 1U);
    REQUIRE(n.gcds[1].smi_index == 0U);
    REQUIRE(n.findings.empty());
}

TEST_CASE("a GCD without driver is named and listed as not bound", "[discovery][missing][case:MISS-1]") {
    const test::two_dies tree;
    tree.remove("sys/bus/pci/devices/0000:c6:00.0/driver");
    tree.remove(test::sysfs_tree::kfd(2));
    const auto n = look(tree, listing({0xc100}), 2);
    REQUIRE(n.gcds.size() == 2);
    REQUIRE_FALSE(n.gcds[1].bound);
    REQUIRE_FALSE(n.gcds[1].target);
    REQUIRE(n.sources.kfd == 1U);
    const auto* count = find(n, "gpu_count");
    REQUIRE(count->level == finding::severity::fault);
    REQUIRE(count->bdf == pci_address{0, 0xc6, 0, 0});
    REQUIRE(says(count, "2 GPUs on PCI, 1 in KFD; no driver bound: 0000:c6:00.0"));
    REQUIRE(find(n, "expected_gcds")->level == finding::severity::fault);
}

TEST_CASE("a driver that refuses all GPUs is one finding that names them",
          "[discovery][missing][case:MISS-1][case:MISS-2][case:MISS-3]") {
    const test::two_dies tree;
    for (const char* bdf : {"0000:c1:00.0", "0000:c6:00.0"})
        tree.remove(test::sysfs_tree::pci_file(bdf, "driver"));
    tree.remove(test::sysfs_tree::kfd(1));
    tree.remove(test::sysfs_tree::kfd(2));
    tree.write("sys/module/amdgpu/version", "6.7.0\n");
    const auto n = look(tree, listing({}));
    REQUIRE(n.findings.size() == 1);
    REQUIRE(says(find(n, "driver"), "2 GPUs on PCI, 0 bound: the driver amdgpu 6.7.0 (DKMS) is loaded"));
    REQUIRE(says(find(n, "driver"), "drives none of them: 0000:c1:00.0 0000:c6:00.0; see the kernel log, power cycle"));
}

TEST_CASE("a driver that is not loaded is one reason for the node", "[discovery][missing][case:MISS-4]") {
    const test::two_dies tree;
    for (const char* bdf : {"0000:c1:00.0", "0000:c6:00.0"})
        tree.remove(test::sysfs_tree::pci_file(bdf, "driver"));
    tree.remove("sys/class/kfd");
    tree.write("sys/module/drm/initstate", "live\n");
    const auto n = look(tree, {"/bin/echo", R"({"start_error":"rsmi_init failed with status 8"})"});
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].check == "driver");
    REQUIRE(n.findings[0].level == finding::severity::fault);
    REQUIRE(says(&n.findings[0], "not loaded for kernel 6.6.0-test"));
    REQUIRE_FALSE(n.sources.kfd);
    REQUIRE(n.sources.pci == 2U);
}

TEST_CASE("a GPU that was given to another driver is no fault", "[discovery][missing]") {
    const test::two_dies tree;
    tree.pci("0000:d1:00.0", "0x1002", "0x7408", "0x038000", "vfio-pci");
    const auto n = look(tree);
    REQUIRE(n.findings.size() == 1);
    REQUIRE(find(n, "driver")->level == finding::severity::warning);
    REQUIRE_FALSE(n.gcds[2].bound);
}

TEST_CASE("SMI that lists nothing leaves everything else as it is", "[discovery][smi][case:ARCH-6][case:INIT-2]") {
    const test::two_dies tree;
    const auto n = look(tree, listing({}), 2);
    REQUIRE(n.sources.smi == 0U);
    REQUIRE(n.gcds[0].bound);
    REQUIRE(n.gcds[0].target);
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].level == finding::severity::warning);
    REQUIRE(says(&n.findings[0], "2 GPUs in KFD, 0 in SMI; not listed by SMI: 0000:c1:00.0 0000:c6:00.0; facts "
                                 "about them come from KFD and PCI alone"));
}

TEST_CASE("SMI that fails is unknown, which is not zero", "[discovery][smi][case:INIT-5][case:INIT-6]") {
    const test::two_dies tree;
    const auto aborts = look(tree, {"/bin/sh", "-c", "kill -ABRT $$"});
    REQUIRE_FALSE(aborts.sources.smi);
    REQUIRE(find(aborts, "smi")->level == finding::severity::warning);
    REQUIRE(aborts.gcds.size() == 2);

    const auto absent = look(tree, {"/bin/echo", R"({"library_error":"no librocm_smi64.so"})"});
    REQUIRE_FALSE(absent.sources.smi);
    REQUIRE(find(absent, "smi")->level == finding::severity::note);
}

TEST_CASE("SMI's function numbers that are not on the bus are partitions", "[discovery][smi][case:PART-2]") {
    const test::sysfs_tree tree;
    tree.pci("0000:0c:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
    tree.write(test::sysfs_tree::pci_file("0000:0c:00.0", "current_compute_partition"), "TPX\n");
    for (unsigned long p = 0; p < 3; ++p)
        tree.kfd_gpu(1 + static_cast<int>(p), 10, 0x0c00UL | p << 28, 90402);
    const auto n = look(tree, listing({0x0c00, 0x0c01, 0x0c02}));
    REQUIRE(n.gcds.size() == 3);
    REQUIRE(n.sources.pci == 1U);
    REQUIRE(n.findings.empty());
    for (uint32_t p = 0; p < 3; ++p) {
        REQUIRE(n.gcds[p].partition == p);
        REQUIRE(n.gcds[p].smi_index == p);
        REQUIRE(n.gcds[p].package == 0U);
    }
}

TEST_CASE("a node without AMD GPUs is asked nothing more", "[discovery][case:INIT-3]") {
    const test::sysfs_tree tree;
    tree.pci("0000:03:00.0", "0x1a03", "0x2000", "0x030000", "ast");
    const auto n = look(tree, {"/bin/sh", "-c", "kill -ABRT $$"});
    REQUIRE(n.gcds.empty());
    REQUIRE(n.findings.empty());
    REQUIRE(n.sources.pci == 0U);
    REQUIRE_FALSE(n.sources.smi);
    REQUIRE(says(find(look(tree, both, 8), "expected_gcds"), "0 usable GCDs, the configuration expects 8"));
}

TEST_CASE("an empty tree is a node without facts, an absent one an error", "[discovery]") {
    const test::sysfs_tree tree;
    tree.remove("sys/bus");
    tree.remove("proc");
    const auto n = look(tree);
    REQUIRE_FALSE(n.sources.pci);
    REQUIRE(n.gcds.empty());
    REQUIRE(n.boot_id == "");
    REQUIRE(discover({}, deadline::in(std::chrono::seconds(1)), {"/no/such/sys", "/proc"}).failure().code ==
            error_code::not_found);
}

TEST_CASE("ids that several GCDs carry identify nothing", "[discovery][case:RSMI-3]") {
    const test::two_dies tree;
    tree.write(test::sysfs_tree::pci_file("0000:c6:00.0", "unique_id"), "1a2b3c4d5e6f7081\n");
    const auto n = look(tree);
    REQUIRE_FALSE(n.gcds[0].unique_id);
    REQUIRE_FALSE(n.gcds[1].unique_id);
    REQUIRE(find(n, "identity"));
}

TEST_CASE("a processor that KFD does not name stays unknown", "[discovery][case:ARCH-7]") {
    const test::two_dies tree;
    tree.kfd_gpu(2, 51111, 0xc600, 0);
    const auto n = look(tree);
    REQUIRE_FALSE(n.gcds[1].target);
    REQUIRE(find(n, "target")->bdf == pci_address{0, 0xc6, 0, 0});
}

TEST_CASE("a processor's graphics unit beside discrete GPUs is left out", "[discovery][case:MIX-2][case:MIX-3]") {
    const test::two_dies tree;
    tree.pci("0000:08:00.0", "0x1002", "0x164e", "0x030000", "amdgpu");
    tree.kfd_gpu(3, 9, 0x0800, 100306);
    const auto n = look(tree, listing({0x0800, 0xc100, 0xc600}), 2);
    REQUIRE(n.gcds.size() == 2);
    REQUIRE(n.sources.pci == 2U);
    REQUIRE(n.sources.kfd == 2U);
    REQUIRE(n.sources.smi == 2U);
    REQUIRE(n.gcds[0].smi_index == 1U);
    REQUIRE(n.findings.size() == 1);
    REQUIRE(n.findings[0].check == "integrated");
}

TEST_CASE("a graphics unit that is all there is stays", "[discovery]") {
    const test::sysfs_tree tree;
    tree.pci("0000:08:00.0", "0x1002", "0x1586", "0x030000", "amdgpu");
    tree.kfd_gpu(1, 9, 0x0800, 110501);
    const auto n = look(tree, listing({0x0800}));
    REQUIRE(n.gcds.size() == 1);
    REQUIRE(n.gcds[0].target->text() == "gfx1151");
}

TEST_CASE("GPUs that a device cgroup hides are not missing", "[discovery][case:VIS-10]") {
    const test::two_dies tree;
    observations seen{read_pci(tree.where()), read_kfd(tree.where()), {}, std::nullopt, std::nullopt, {}, {}, {}};
    seen.kfd.devices.pop_back();
    seen.kfd.hidden = 1;
    node n;
    n.gcds = join(seen.pci, seen.kfd);
    const auto findings = compare(seen, n, 2);
    REQUIRE(findings.size() == 1);
    REQUIRE(findings[0].level == finding::severity::note);
    REQUIRE(says(&findings[0], "1 GPU hidden"));
}

TEST_CASE("a peer behind another GPU is no direct link", "[discovery][links][case:TOPO-2]") {
    const test::two_dies tree;
    tree.pci("0000:c9:00.0", "0x1002", "0x7408", "0x038000", "amdgpu", 1);
    tree.kfd_gpu(3, 51112, 0xc900, 90010);
    tree.io_link(1, 3, 11, 30, 0, 0);
    tree.io_link(2, 3, 11, 15, 50000, 50000);
    const auto n = look(tree, listing({0xc100, 0xc600, 0xc900}));
    REQUIRE(find_link(n, 0, 2) == nullptr);
    REQUIRE(find_link(n, 1, 2)->links == 1U);
    REQUIRE(n.gcds[1].package == 0U);
    REQUIRE_FALSE(n.gcds[2].package); // its other die is not known
}

TEST_CASE("drivers that tell no bandwidth are read by weight", "[discovery][links][case:TOPO-2]") {
    const test::two_dies tree;
    tree.pci("0000:c9:00.0", "0x1002", "0x7408", "0x038000", "amdgpu", 1);
    tree.kfd_gpu(3, 51112, 0xc900, 90010);
    tree.io_link(1, 2, 11, 15, 0, 0);
    tree.io_link(2, 1, 11, 15, 0, 0);
    tree.io_link(1, 3, 11, 30, 0, 0);
    const auto n = look(tree, listing({0xc100, 0xc600, 0xc900}));
    REQUIRE(n.links.size() == 2);
    REQUIRE_FALSE(find_link(n, 0, 1)->links);
    REQUIRE_FALSE(find_link(n, 0, 1)->gb_per_s);
    REQUIRE_FALSE(n.gcds[0].package);
}

TEST_CASE("a package is also known by its serial number, a placeholder is none", "[discovery][package][case:RSMI-5]") {
    const test::two_dies tree;
    tree.io_link(1, 2, 11, 15, 50000, 100000);
    tree.io_link(2, 1, 11, 15, 50000, 100000);
    for (const char* bdf : {"0000:c1:00.0", "0000:c6:00.0"})
        tree.write(test::sysfs_tree::pci_file(bdf, "serial_number"), "PCB0042\n");
    REQUIRE(look(tree).gcds[1].package == 0U);

    tree.pci("0000:c9:00.0", "0x1002", "0x7408", "0x038000", "amdgpu", 1);
    tree.kfd_gpu(3, 51112, 0xc900, 90010);
    tree.write(test::sysfs_tree::pci_file("0000:c9:00.0", "serial_number"), "PCB0042\n");
    REQUIRE_FALSE(look(tree, listing({0xc100, 0xc600, 0xc900})).gcds[1].package);
}

TEST_CASE("links that only go one way, or lack within a package, are found", "[discovery][links]") {
    const test::two_dies tree;
    tree.remove(test::sysfs_tree::kfd(2) + "/io_links/1");
    REQUIRE(says(find(look(tree), "links"), "0000:c1:00.0 has a link to 0000:c6:00.0, but not the other way"));

    tree.remove(test::sysfs_tree::kfd(1) + "/io_links/2");
    // Nothing says that the two are one package, but they are of a product that is always linked.
    REQUIRE(says(find(look(tree), "links"), "no xGMI link between any of 2 GPUs MI250X"));
    for (const char* bdf : {"0000:c1:00.0", "0000:c6:00.0"})
        tree.write(test::sysfs_tree::pci_file(bdf, "serial_number"), "PCB0042\n");
    REQUIRE(says(find(look(tree), "links"), "dies of one package without a link"));
}

TEST_CASE("PCIe peers have a link of that type", "[discovery][links][case:TOPO-3]") {
    const test::sysfs_tree tree;
    for (int i = 0; i < 2; ++i) {
        tree.pci(fmt::format("0000:0{}:00.0", i + 1), "0x1002", "0x740f", "0x038000", "amdgpu");
        tree.kfd_gpu(i + 1, 7, 0x100UL * static_cast<unsigned long>(i + 1), 90010);
    }
    tree.write(test::sysfs_tree::kfd(1) + "/p2p_links/0/properties",
               "type 2\nnode_from 1\nnode_to 2\nweight 40\nmin_bandwidth 0\nmax_bandwidth 32000\n");
    const auto n = look(tree, listing({0x100, 0x200}));
    REQUIRE(n.links.size() == 1);
    REQUIRE(n.links[0].type == "pcie");
    REQUIRE(n.links[0].gb_per_s == 32.0);
    REQUIRE_FALSE(n.links[0].links);
}

TEST_CASE("the fingerprint changes with the driver, KFD and the boot, and with nothing else",
          "[discovery][case:VIS-9]") {
    const test::two_dies tree;
    const auto before = topology_generation(tree.where());
    REQUIRE(topology_generation(tree.where()) == before);
    tree.write(test::sysfs_tree::pci_file("0000:c1:00.0", "current_link_width"), "8\n");
    REQUIRE(topology_generation(tree.where()) == before);
    tree.write("sys/class/kfd/kfd/topology/generation_id", "4\n");
    const auto raised = topology_generation(tree.where());
    REQUIRE(raised != before);
    tree.remove(test::sysfs_tree::pci_file("0000:c6:00.0", "driver"));
    REQUIRE(topology_generation(tree.where()) != raised);
}
