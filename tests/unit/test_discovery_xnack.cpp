// The xnack mode of processes, as the driver's code makes it, and as discovery joins it to a GCD.
#include "discovery/merge.hpp"
#include "discovery/xnack.hpp"
#include "sysfs_tree.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

/// A node of one MI250X die with shared virtual memory; `noretry` may be empty.
gcd die_with(const std::string& noretry, unsigned version = 90010, unsigned capability = 0x1c702280) {
    const test::sysfs_tree tree;
    tree.pci("0000:c1:00.0", "0x1002", version == 90010 ? "0x7408" : "0x74a0", "0x038000", "amdgpu");
    tree.kfd_gpu(1, 7, 0xc100, version, capability);
    if (!noretry.empty())
        tree.write("sys/module/amdgpu/parameters/noretry", noretry + "\n");
    return join(read_pci(tree.where()), read_kfd(tree.where())).at(0);
}

} // namespace

TEST_CASE("the mode of a process that does not choose follows the driver's parameter",
          "[discovery][xnack][case:ARCH-4]") {
    REQUIRE(die_with("-1").xnack == false);
    REQUIRE(die_with("1").xnack == false);
    REQUIRE(die_with("0").xnack == true);
    REQUIRE(die_with("0").default_target()->text() == "gfx90a:sramecc+:xnack+");
    REQUIRE(die_with("-1").default_target()->text() == "gfx90a:sramecc+:xnack-");
    REQUIRE(die_with("0").target->text() == "gfx90a:sramecc+"); // the device itself has no mode
    for (const char* unreadable : {"", "2", "N", "garbage"}) {
        REQUIRE_FALSE(die_with(unreadable).xnack);
        REQUIRE(die_with(unreadable).default_target()->text() == "gfx90a:sramecc+");
    }
}

TEST_CASE("MI300A is off by default and may be turned on", "[discovery][xnack][case:APU-4]") {
    const auto g = die_with("-1", 90402);
    REQUIRE(g.default_target()->text() == "gfx942:sramecc+:xnack-");
    REQUIRE(g.xnack_selectable == true);
}

TEST_CASE("a device that cannot switch says so", "[discovery][xnack][case:ARCH-2]") {
    REQUIRE(die_with("-1").xnack_selectable == true);
    REQUIRE(die_with("0", 90010, 0x14000000).xnack_selectable == false); // a kernel without shared virtual memory
    const auto guest = xnack_of({"gfx90a", 0, true, true});
    REQUIRE(guest.by_default == false);
    REQUIRE(guest.selectable == false);
    REQUIRE(xnack_of({"gfx942", -1, true, true}).selectable == true);
    REQUIRE(xnack_of({"gfx906", -1, true}).selectable == false);
    REQUIRE(xnack_of({"gfx906", 0, true}).selectable == true);
    REQUIRE_FALSE(xnack_of({"gfx90a", -1, std::nullopt}).selectable);
    REQUIRE_FALSE(xnack_of({"gfx906", std::nullopt, true}).selectable);
}

TEST_CASE("a processor without the feature has no mode, which is not off", "[discovery][xnack][case:ARCH-5]") {
    for (const char* name : {"gfx1030", "gfx1100", "gfx1201"}) {
        REQUIRE_FALSE(xnack_of({name, -1, true}).by_default);
        REQUIRE(xnack_of({name, -1, true}).selectable == false);
    }
    REQUIRE(xnack_of({"gfx1010", 0, true}).by_default == false);
    // Kernels differ about this one, so it is not said unless the parameter does.
    REQUIRE_FALSE(xnack_of({"gfx90c", -1, true}).by_default);
    REQUIRE(xnack_of({"gfx90c", 1, true}).by_default == false);
    REQUIRE_FALSE(xnack_of({"gfx9zz", 0, true}).by_default);
    REQUIRE_FALSE(xnack_of({"gfx9zz", 0, true}).selectable);
}
