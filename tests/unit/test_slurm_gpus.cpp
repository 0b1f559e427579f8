// Slurm's order of GPUs, as slurmd prints it, and the GCDs behind its indices.
#include "service/slurm_gpus.hpp"

#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

using namespace amd_gpu;

namespace {

gcd die(uint32_t index, uint32_t bus, uint32_t minor) {
    gcd one;
    one.index = index;
    one.bdf = {0, bus, 0, 0};
    one.render_minor = minor;
    one.bound = true;
    return one;
}

} // namespace

TEST_CASE("slurmd's list of GPUs is read in its order", "[slurm_gpus][case:GRES-2]") {
    const auto devices = parse_gres_devices(
        "slurmd: gres/gpu: _normalize_sys_gres_types: Could not find an unused configuration record\n"
        "slurmd: Gres Name=gpu Type=(null) Count=1 Index=131 ID=7696487 File=/dev/dri/renderD131 (null)\n"
        "slurmd: Gres Name=gpu Type=mi210 Count=1 Index=132 ID=7696487 File=/dev/dri/card4,/dev/dri/renderD132 "
        "Cores=0-7\n"
        "slurmd: Gres Name=gpu Type=(null) Count=3 Index=0 ID=7696487 File=/dev/dri/renderD[133-134,140] (null)\n"
        "slurmd: Gres Name=nic Type=(null) Count=1 Index=0 ID=1 File=/dev/hsn0 (null)\n");
    REQUIRE(devices);
    CHECK(*devices == gres_devices{{"/dev/dri/renderD131"},
                                   {"/dev/dri/card4", "/dev/dri/renderD132"},
                                   {"/dev/dri/renderD133"},
                                   {"/dev/dri/renderD134"},
                                   {"/dev/dri/renderD140"}});
}

TEST_CASE("GPUs that Slurm only counts have no files", "[slurm_gpus]") {
    const auto devices = parse_gres_devices("slurmd: Gres Name=gpu Type=(null) Count=2 Index=0 ID=7696487 (null)\n");
    REQUIRE(devices);
    CHECK(*devices == gres_devices{{}, {}});
    REQUIRE(parse_gres_devices(""));
    CHECK(parse_gres_devices("")->empty());
}

TEST_CASE("a list of GPUs that makes no sense is refused", "[slurm_gpus]") {
    for (const char* text :
         {"Gres Name=gpu Count=0 File=/dev/dri/renderD128", "Gres Name=gpu Count=x File=/dev/a",
          "Gres Name=gpu Count=2 File=/dev/dri/renderD[128-", "Gres Name=gpu Count=2 File=/dev/a[1-x]",
          "Gres Name=gpu Count=3 File=/dev/dri/renderD[128-129]", "Gres Name=gpu Count=4000000000 File=",
          "Gres Name=gpu Count=1 File=/dev/a[1]b", "Gres Name=gpu Count=9000 File=/dev/a[1-9000000]"})
        CHECK_FALSE(parse_gres_devices(text));
}

TEST_CASE("an index is a GCD by its device file, never by position", "[slurm_gpus][case:VIS-3]") {
    node here;
    here.gcds = {die(0, 0xc1, 128), die(1, 0xc6, 129), die(2, 0xc9, 131)};
    here.gcds[2].bound = false;
    const auto order = gcds_of(
        {{"/dev/dri/renderD129"}, {"/dev/nvidia0"}, {"/dev/dri/renderD131"}, {}, {"/dev/dri/renderD128"}}, here);
    REQUIRE(order.size() == 5);
    CHECK(order[0] == &here.gcds[1]);
    CHECK(order[1] == nullptr); // another vendor's
    CHECK(order[2] == nullptr); // no driver
    CHECK(order[3] == nullptr);
    CHECK(order[4] == &here.gcds[0]);
}

TEST_CASE("a card without its render node is found through its PCI device", "[slurm_gpus][case:MIX-1]") {
    const temporary_directory root;
    const std::string drm = root.path() + "/class/drm/card1";
    std::filesystem::create_directories(drm);
    std::filesystem::create_symlink("../../../0000:c6:00.0", drm + "/device");
    node here;
    here.gcds = {die(0, 0xc1, 128), die(1, 0xc6, 129)};
    sysfs files;
    files.sys = root.path();
    const auto order = gcds_of({{"/dev/dri/card1"}, {"/dev/dri/card0"}}, here, files);
    CHECK(order[0] == &here.gcds[1]);
    CHECK(order[1] == nullptr);
}

TEST_CASE("slurmd that is not there, fails or hangs is an error in words", "[slurm_gpus]") {
    settings site;
    site.slurmd = "/nonexistent/slurmd";
    CHECK(ask_slurmd(site, "n0", "", deadline::in(std::chrono::seconds(5))).failure().code == error_code::not_found);
    site.slurmd = "/bin/false";
    CHECK(ask_slurmd(site, "n0", "", deadline::in(std::chrono::seconds(5))).failure().code == error_code::peer);
    const temporary_directory directory;
    site.slurmd = directory.write("hangs", "#!/bin/sh\nexec sleep 60\n");
    std::filesystem::permissions(site.slurmd, std::filesystem::perms::owner_all);
    CHECK(ask_slurmd(site, "n0", "", deadline::in(std::chrono::milliseconds(300))).failure().code ==
          error_code::timed_out);
}
