// Products: what a GPU is by its PCI id, and what follows from it for packages and for units that are no place for
// jobs.
#include "discovery/merge.hpp"
#include "discovery/products.hpp"
#include "sysfs_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace amd_gpu;

namespace {

/// The GCDs of a tree with their packages, as discovery joins them.
std::vector<gcd> gcds_of(const test::sysfs_tree& tree) {
    auto pci = read_pci(tree.where());
    auto kfd = read_kfd(tree.where());
    leave_out_integrated(pci, kfd);
    auto gcds = join(pci, kfd);
    set_packages(gcds, links_of(kfd, gcds), pci);
    return gcds;
}

/// A node of one GPU with a device id and a number of CUs.
gcd only(const std::string& device, unsigned units, unsigned version, const std::string& name = "") {
    const test::sysfs_tree tree;
    tree.pci("0000:c1:00.0", "0x1002", device, "0x038000", "amdgpu");
    if (!name.empty())
        tree.write(test::sysfs_tree::pci_file("0000:c1:00.0", "product_name"), name + "\n");
    tree.kfd_gpu(1, 7, 0xc100, version, 0, fmt::format("simd_count {}\n", units * 4));
    return gcds_of(tree).at(0);
}

} // namespace

TEST_CASE("the model is told by the PCI id, and by the number of CUs where models share one",
          "[discovery][product][case:RSMI-4]") {
    REQUIRE(only("0x7408", 110, 90010).model == "MI250X");
    REQUIRE(only("0x740c", 110, 90010).model == "MI250X");
    REQUIRE(only("0x740c", 104, 90010).model == "MI250");
    REQUIRE_FALSE(only("0x740c", 96, 90010).model);
    REQUIRE(only("0x740f", 104, 90010).model == "MI210");
    REQUIRE(only("0x738c", 120, 90008).model == "MI100");
    REQUIRE(only("0x66a1", 64, 90006).model == "MI60");
    REQUIRE_FALSE(only("0x66a1", 60, 90006).model); // MI50 or Radeon Pro VII
    REQUIRE(only("0x74a1", 304, 90402).model == "MI300X");
    REQUIRE(only("0x74a5", 304, 90402).model == "MI325X");
    REQUIRE(only("0x75a3", 256, 90500).model == "MI355X");
    REQUIRE(only("0x73a3", 60, 100300).model == "W6800");
    REQUIRE(only("0x7408", 110, 90010).sources.at("model") == "table of products: PCI device id");
    REQUIRE(only("0x740c", 110, 90010).sources.at("model") == "table of products: PCI device id, compute_units");
    for (const char* name : {"", "Device 738c", "Aqua Vanjaram [Instinct MI300X]", "amd_instinct_mi300x_oam"})
        REQUIRE(only("0x738c", 120, 90008, name).model == "MI100");
}

TEST_CASE("a product that is not in the table has no model and no kind", "[discovery][product]") {
    const auto g = only("0x7fff", 64, 90402);
    REQUIRE_FALSE(g.model);
    REQUIRE_FALSE(g.kind);
    REQUIRE_FALSE(g.package);
    REQUIRE(g.target->processor == "gfx942");
}

TEST_CASE("the kind is told by the product", "[discovery][product][case:APU-1]") {
    REQUIRE(only("0x7408", 110, 90010).kind == gpu_kind::discrete);
    REQUIRE(only("0x74a0", 228, 90402).kind == gpu_kind::apu);
    REQUIRE(only("0x744c", 96, 110000).kind == gpu_kind::discrete);
    REQUIRE(only("0x164e", 1, 100306).kind == gpu_kind::integrated);
    REQUIRE(only("0x7fff", 1, 100306).kind == gpu_kind::integrated); // by its processor
}

TEST_CASE("a virtual function is one by its id, or by its physical function on the host",
          "[discovery][product][case:RSMI-2]") {
    const auto guest = only("0x74b5", 304, 90402, "AMD Instinct MI300X VF");
    REQUIRE(guest.kind == gpu_kind::virtual_function);
    REQUIRE(guest.model == "MI300X");
    REQUIRE_FALSE(guest.unique_id);
    REQUIRE_FALSE(guest.partition);
    REQUIRE_FALSE(guest.package); // what else is on its board is not for a guest to know

    const test::sysfs_tree host;
    host.pci("0000:c1:00.0", "0x1002", "0x74a1", "0x120000", "amdgpu");
    host.pci("0000:c1:02.0", "0x1002", "0x74a1", "0x120000", "vfio-pci");
    std::filesystem::create_symlink("../0000:c1:00.0", host.path(test::sysfs_tree::pci_file("0000:c1:02.0", "physfn")));
    host.kfd_gpu(1, 7, 0xc100, 90402);
    const auto gcds = gcds_of(host);
    REQUIRE(gcds.at(0).kind == gpu_kind::discrete);
    REQUIRE(gcds.at(1).kind == gpu_kind::virtual_function);
    REQUIRE(gcds.at(1).sources.at("kind") == "pci: devices/0000:c1:02.0/physfn");
}

TEST_CASE("an accelerator in a processor's package stays, whatever its driver calls VRAM",
          "[discovery][product][case:APU-1][case:APU-2][case:MIX-2]") {
    const test::sysfs_tree tree;
    tree.pci("0000:01:00.0", "0x1002", "0x74a0", "0x120000", "amdgpu");
    tree.pci("0000:02:00.0", "0x1002", "0x74a0", "0x120000", "amdgpu");
    tree.pci("0000:03:00.0", "0x1002", "0x744c", "0x030000", "amdgpu");
    tree.write(test::sysfs_tree::pci_file("0000:01:00.0", "mem_info_vram_total"), "0\n");
    tree.write(test::sysfs_tree::pci_file("0000:02:00.0", "mem_info_vram_total"), "536870912\n");
    tree.kfd_cpu(0);
    for (int i = 1; i <= 3; ++i)
        tree.kfd_gpu(i, 7, 0x100UL * static_cast<unsigned long>(i), i == 3 ? 110000 : 90402);
    const auto gcds = gcds_of(tree);
    REQUIRE(gcds.size() == 3);
    REQUIRE_FALSE(gcds[0].vram_bytes);
    REQUIRE(gcds[1].vram_bytes == 536870912U);
    REQUIRE(gcds[0].memory_bytes == 68702699520U);
    REQUIRE(gcds[1].memory_bytes == 68702699520U);
    REQUIRE(gcds[1].kind == gpu_kind::apu);
}

TEST_CASE("a processor's graphics unit is left out in either order, and without a driver",
          "[discovery][product][case:MIX-2][case:MIX-3]") {
    for (const bool first : {true, false}) {
        for (const bool bound : {true, false}) {
            const test::sysfs_tree tree;
            const std::string unit = first ? "0000:03:00.0" : "0000:16:00.0";
            const std::string card = first ? "0000:16:00.0" : "0000:03:00.0";
            tree.pci(unit, "0x1002", "0x164e", "0x030000", bound ? "amdgpu" : "");
            tree.pci(card, "0x1002", "0x744c", "0x030000", "amdgpu");
            tree.kfd_cpu(0);
            tree.kfd_gpu(1, 7, first ? 0x1600 : 0x0300, 110000);
            if (bound)
                tree.kfd_gpu(2, 8, first ? 0x0300 : 0x1600, 100306);
            auto pci = read_pci(tree.where());
            auto kfd = read_kfd(tree.where());
            REQUIRE(leave_out_integrated(pci, kfd) == std::set{*pci_address::parse(unit)});
            const auto gcds = join(pci, kfd);
            REQUIRE(gcds.size() == 1);
            REQUIRE(gcds[0].bdf.text() == card);
            REQUIRE(gcds[0].target->text() == "gfx1100");
        }
    }
}

TEST_CASE("a die whose power sensor is silent shares a package only if the product has two dies",
          "[discovery][package][case:RSMI-5][case:RSMI-6]") {
    test::two_dies tree;
    for (const bool sensor : {true, false}) {
        if (sensor)
            tree.write(test::sysfs_tree::pci_file("0000:c1:00.0", "hwmon/hwmon0/power1_average"), "90000000\n");
        tree.write(test::sysfs_tree::pci_file("0000:c6:00.0", "hwmon/hwmon1/power1_average"), "0\n");
        const auto dies = gcds_of(tree);
        REQUIRE(dies.at(0).package == 0U);
        REQUIRE(dies.at(1).package == 0U);
    }

    const test::sysfs_tree cards;
    for (int i = 1; i <= 2; ++i) {
        const std::string bdf = fmt::format("0000:0{}:00.0", i);
        cards.pci(bdf, "0x1002", "0x744c", "0x030000", "amdgpu");
        cards.write(test::sysfs_tree::pci_file(bdf, "serial_number"), "0123456789\n");
        cards.kfd_gpu(i, 7, 0x100UL * static_cast<unsigned long>(i), 110000);
    }
    const auto gcds = gcds_of(cards);
    REQUIRE(gcds.at(0).package == 0U);
    REQUIRE(gcds.at(1).package == 1U);
    REQUIRE(gcds.at(0).sources.at("package") == "table of products: one function is one package");
}

TEST_CASE("every id of the table has one kind and one number of dies", "[discovery][product]") {
    for (uint32_t device = 0; device <= 0xffff; ++device) {
        const auto any = find_product(device, std::nullopt);
        if (!any)
            continue;
        for (const uint32_t units : {1U, 60U, 64U, 104U, 110U, 304U}) {
            const auto one = find_product(device, units);
            REQUIRE(one);
            REQUIRE(one->kind == any->kind);
            REQUIRE(one->dies_per_package == any->dies_per_package);
            REQUIRE(one->xgmi == any->xgmi);
        }
    }
}
