// The readers one by one: KFD's topology, the PCI bus, the answer of the rocm_smi reader.
#include "discovery/kfd.hpp"
#include "discovery/merge.hpp"
#include "discovery/pci.hpp"
#include "discovery/smi.hpp"
#include "sysfs_tree.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

TEST_CASE("KFD gives processor, memory, units and links", "[discovery][kfd]") {
    const test::two_dies tree;
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.present);
    REQUIRE(kfd.devices.size() == 2);
    const auto& die = kfd.devices[0];
    REQUIRE(die.bdf.text() == "0000:c1:00.0");
    REQUIRE(die.target->text() == "gfx90a:sramecc+");
    REQUIRE(die.memory_bytes == 68702699520U);
    REQUIRE(die.compute_units == 110U);
    REQUIRE(die.max_clock_mhz == 1700U);
    REQUIRE(die.render_minor == 128U);
    REQUIRE(die.hive == 77U);
    REQUIRE_FALSE(die.partition);
    REQUIRE(die.links.size() == 2);
    REQUIRE(kfd_generation(tree.where()) == "3");
}

TEST_CASE("gfx_target_version is decimal with a hexadecimal step", "[discovery][kfd][case:ARCH-6]") {
    const auto [version, name] = GENERATE(table<unsigned, std::string>({{110501, "gfx1151"},
                                                                        {90010, "gfx90a:sramecc+"},
                                                                        {90402, "gfx942:sramecc+"},
                                                                        {90500, "gfx950:sramecc+"},
                                                                        {100300, "gfx1030"},
                                                                        {90012, "gfx90c"}}));
    const test::sysfs_tree tree;
    tree.kfd_gpu(1, 7, 0x100, version);
    REQUIRE(read_kfd(tree.where()).devices.at(0).target->text() == name);
}

TEST_CASE("sramecc is off when its capability bit is clear", "[discovery][kfd]") {
    const test::sysfs_tree tree;
    tree.kfd_gpu(1, 7, 0x100, 90010, 0x10000000);
    REQUIRE(read_kfd(tree.where()).devices.at(0).target->text() == "gfx90a:sramecc-");
}

TEST_CASE("CPU nodes are no GPUs", "[discovery][kfd][case:ARCH-8][case:MIX-2]") {
    const test::sysfs_tree tree;
    tree.kfd_cpu(0);
    tree.kfd_cpu(1);
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.present);
    REQUIRE(kfd.devices.empty());
    REQUIRE(kfd.problems.empty());
}

TEST_CASE("KFD is absent where it is absent", "[discovery][kfd]") {
    const test::sysfs_tree tree;
    REQUIRE_FALSE(read_kfd(tree.where()).present);
    REQUIRE_FALSE(kfd_generation(tree.where()));
}

TEST_CASE("garbage in KFD's files makes facts unknown, not wrong", "[discovery][kfd][case:TOPO-4]") {
    const test::sysfs_tree tree;
    tree.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "7\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count many\nsimd_per_cu 0\ngfx_target_version 4294967295\nlocation_id 256\ndomain 0\nunique_id "
               "0\nhive_id 0\n"
               "max_engine_clk_fcompute -1\ndrm_render_minor 99999999999999999999999\n\nnoise\ncapabil");
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.devices.size() == 1);
    const auto& die = kfd.devices[0];
    REQUIRE_FALSE(die.target);
    REQUIRE_FALSE(die.compute_units);
    REQUIRE_FALSE(die.unique_id);
    REQUIRE_FALSE(die.hive);
    REQUIRE_FALSE(die.max_clock_mhz);
    REQUIRE_FALSE(die.render_minor);
    REQUIRE_FALSE(die.memory_bytes);
}

TEST_CASE("a GPU node without an address is a problem, not a GPU", "[discovery][kfd]") {
    const test::sysfs_tree tree;
    tree.write("sys/class/kfd/kfd/topology/nodes/1/gpu_id", "7\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 440\nlocation_id 256\ndoma"); // cut off
    tree.write("sys/class/kfd/kfd/topology/nodes/2/gpu_id", "x\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/2/properties", "simd_count 440\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/3/gpu_id", "\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/3/properties", "");
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.devices.empty());
    REQUIRE(kfd.problems.size() == 2);
    REQUIRE(kfd.problems[0].find("PCI address") != std::string::npos);
}

TEST_CASE("nodes that share a PCI function are its partitions", "[discovery][kfd][case:PART-7]") {
    const test::sysfs_tree tree;
    for (int p = 0; p < 3; ++p)
        tree.kfd_gpu(1 + p, 10U + static_cast<unsigned>(p), 0x0c00UL | static_cast<unsigned long>(2 - p) << 28, 90402);
    tree.kfd_gpu(9, 19, 0x2200UL | 5UL << 28, 90402);
    const auto kfd = read_kfd(tree.where());
    REQUIRE(kfd.devices.size() == 4);
    for (uint32_t p = 0; p < 3; ++p) {
        REQUIRE(kfd.devices[p].bdf.text() == "0000:0c:00.0");
        REQUIRE(kfd.devices[p].partition == p);
    }
    REQUIRE_FALSE(kfd.devices[3].partition);
}

TEST_CASE("PCI lists AMD's GPUs and nobody else's", "[discovery][pci][case:MIX-1]") {
    const test::two_dies tree;
    tree.pci("0000:04:00.0", "0x8086", "0x56c0", "0x038000", "i915");
    tree.pci("0000:05:00.0", "0x1002", "0x515e", "0x030000", "radeon"); // ES1000, a console
    tree.pci("0000:06:00.0", "0x1002", "0xab28", "0x040300", "snd_hda_intel");
    tree.pci("0000:07:00.0", "0x1002", "0x74a1", "0x120000", "");
    const auto pci = read_pci(tree.where());
    REQUIRE(pci.readable);
    REQUIRE(pci.gpus.size() == 3);
    REQUIRE(pci.gpus[0].bdf.text() == "0000:07:00.0");
    REQUIRE_FALSE(pci.gpus[0].driver);
    REQUIRE(pci.gpus[1].bdf.text() == "0000:c1:00.0");
    REQUIRE(pci.gpus[1].driver == "amdgpu");
    REQUIRE(pci.gpus[1].unique_id == 0x1a2b3c4d5e6f7081U);
    REQUIRE(pci.gpus[1].product == "AMD Instinct MI250X");
    REQUIRE(pci.gpus[1].numa == 3U);
    REQUIRE(pci.gpus[1].gt_per_s == 16.0);
    REQUIRE(pci.gpus[1].width == 16U);
    REQUIRE(pci_summary(tree.where()) == "0000:07:00.0= 0000:c1:00.0=amdgpu 0000:c6:00.0=amdgpu ");
}

TEST_CASE("placeholders on PCI are unknown", "[discovery][pci][case:RSMI-1][case:RSMI-3][case:TOPO-5]") {
    const test::two_dies tree;
    const auto file = [](const char* name) { return test::sysfs_tree::pci_file("0000:c1:00.0", name); };
    tree.write(file("numa_node"), "-1\n");
    tree.write(file("unique_id"),
               GENERATE("0000000000000000\n", "XX\n", "\n", "ffffffffffffffff\n", "N/A\n", "12345678123456781234\n"));
    tree.write(file("product_name"), "N/A\n");
    tree.write(file("serial_number"), "0000\n");
    tree.write(file("current_link_speed"), "Unknown\n");
    tree.write(file("current_link_width"), "255\n");
    const auto pci = read_pci(tree.where());
    const auto& gpu = pci.gpus.at(0);
    REQUIRE_FALSE(gpu.numa);
    REQUIRE_FALSE(gpu.unique_id);
    REQUIRE_FALSE(gpu.product);
    REQUIRE_FALSE(gpu.serial);
    REQUIRE_FALSE(gpu.gt_per_s);
    REQUIRE_FALSE(gpu.width);
}

TEST_CASE("the link of a board with a switch of its own is the one to the slot", "[discovery][pci][case:RSMI-13]") {
    const test::sysfs_tree tree;
    const std::string bus = "sys/devices/pci0000:00/0000:00:01.1";
    const std::string upstream = bus + "/0000:01:00.0";
    const std::string gpu = upstream + "/0000:02:00.0/0000:03:00.0";
    const auto device = [&](const std::string& directory, const char* vendor, const char* speed, const char* width) {
        tree.write(directory + "/vendor", std::string(vendor) + "\n");
        tree.write(directory + "/current_link_speed", std::string(speed) + "\n");
        tree.write(directory + "/current_link_width", std::string(width) + "\n");
    };
    device(bus, "0x1022", "16.0 GT/s PCIe", "8");
    device(upstream, "0x1002", "16.0 GT/s PCIe", "16");
    device(upstream + "/0000:02:00.0", "0x1002", "8.0 GT/s PCIe", "1");
    device(gpu, "0x1002", "8.0 GT/s PCIe", "1");
    tree.write(gpu + "/class", "0x030000\n");
    tree.write(gpu + "/device", "0x73a3\n");
    std::filesystem::create_symlink("../../../devices/pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0",
                                    tree.path("sys/bus/pci/devices/0000:03:00.0"));
    const auto pci = read_pci(tree.where());
    REQUIRE(pci.gpus.at(0).slot_port == pci_address{0, 1, 0, 0});
    REQUIRE(pci.gpus[0].gt_per_s == 16.0);
    REQUIRE(pci.gpus[0].width == 16U);
    const auto g = join(pci, {}).at(0);
    REQUIRE(g.sources.at("pcie_width") == "pci: devices/0000:01:00.0/current_link_width");

    tree.write(upstream + "/vendor", "0x1022\n"); // a switch of the host
    tree.write(upstream + "/0000:02:00.0/vendor", "0x1022\n");
    REQUIRE_FALSE(read_pci(tree.where()).gpus.at(0).slot_port);
    REQUIRE(read_pci(tree.where()).gpus[0].width == 1U);
}

TEST_CASE("firmware that is loaded has a version", "[discovery][pci]") {
    const test::two_dies tree;
    const auto file = [](const char* name) {
        return test::sysfs_tree::pci_file("0000:c1:00.0", std::string("fw_version/") + name);
    };
    tree.write(file("mec_fw_version"), "0x0000004e\n");
    tree.write(file("ta_ras_fw_version"), "0x1b00013e\n");
    tree.write(file("me_fw_version"), "0x00000000\n");
    tree.write(file("vcn_fw_version"), "\n");
    tree.write(file("uvd_fw_version"), "garbage\n");
    tree.write(file("notes"), "0x1\n");
    const auto pci = read_pci(tree.where());
    const std::map<std::string, std::string> loaded = {{"mec", "0x0000004e"}, {"ta_ras", "0x1b00013e"}};
    REQUIRE(pci.gpus.at(0).firmware == loaded);
    const auto gcds = join(pci, read_kfd(tree.where()));
    REQUIRE(gcds.at(0).firmware == loaded);
    REQUIRE(gcds[0].sources.at("firmware") == "pci: devices/0000:c1:00.0/fw_version");
    REQUIRE(gcds.at(1).firmware.empty());
    REQUIRE_FALSE(gcds[1].sources.contains("firmware"));
}

// ---- rocm_smi's reader ----

namespace {

smi_answer ask(const std::string& script, int milliseconds = 5000) {
    return ask_smi({"/bin/sh", "-c", script}, deadline::in(std::chrono::milliseconds(milliseconds)));
}

} // namespace

TEST_CASE("the reader's answer is read", "[discovery][smi]") {
    const auto answer = ask(R"(echo warning >&2; echo '{"version":"1.0.0","library":"x","devices":[
        {"index":0,"id":49408,"unique_id":7},{"index":1,"id":4294967552,"unique_id":0},{"index":2,"id":1610615808}]}')");
    REQUIRE(answer);
    REQUIRE(answer->version == "1.0.0");
    REQUIRE(answer->devices.size() == 3);
    REQUIRE(answer->devices[0].bdf.text() == "0000:c1:00.0");
    REQUIRE(answer->devices[0].unique_id == 7U);
    REQUIRE(answer->devices[1].bdf.text() == "0001:01:00.0");
    REQUIRE_FALSE(answer->devices[1].unique_id);
    REQUIRE(answer->devices[2].partition == 6);
}

TEST_CASE("a reader that aborts is told from one that hangs and one that talks nonsense",
          "[discovery][smi][case:INIT-5]") {
    const auto aborted = ask("echo 'Assertion failed' >&2; kill -ABRT $$");
    REQUIRE(aborted.failure().code == error_code::peer);
    REQUIRE(aborted.failure().what.find("Assertion failed") != std::string::npos);

    const auto before = deadline::clock::now();
    const auto hung = ask("exec sleep 60", 300);
    REQUIRE(hung.failure().code == error_code::timed_out);
    REQUIRE(deadline::clock::now() - before < std::chrono::seconds(3));

    for (const char* text : {"", "nonsense", "[]", "{}", "7", R"({"devices":7})", R"({"devices":[7]})",
                             R"({"devices":[{"index":-1,"id":1}]})", R"({"devices":[{"index":0,"id":"x"}]})",
                             R"({"devices":[{"index":0,"id":1})"}) {
        CAPTURE(text);
        REQUIRE(parse_smi(text).failure().code == error_code::peer);
    }
    REQUIRE(ask("exit 3").failure().code == error_code::peer);
    REQUIRE(ask_smi({"/no/such/reader"}, deadline::in(std::chrono::seconds(1))).failure().code ==
            error_code::not_found);
}

TEST_CASE("a library that is absent is told from one that cannot start, which is tried again",
          "[discovery][smi][case:INIT-1][case:INIT-6]") {
    REQUIRE(ask(R"(echo '{"library_error":"no librocm_smi64.so.7"}')").failure().code == error_code::not_found);

    const test::sysfs_tree tree;
    const std::string count = tree.path("count");
    const auto answer =
        ask("echo x >>" + count + "; [ $(wc -l <" + count +
            R"() -ge 3 ] && echo '{"devices":[]}' || echo '{"start_error":"rsmi_init failed with status 8"}')");
    REQUIRE(answer);
    REQUIRE(ask(R"(echo '{"start_error":"rsmi_init failed with status 8"}')").failure().code ==
            error_code::unsupported);
}

TEST_CASE("nothing of the caller's environment reaches the library", "[discovery][smi][case:INIT-4]") {
    ::setenv("LD_LIBRARY_PATH", "/opt/other", 1);
    const auto answer = ask(R"(echo "{\"version\":\"$LD_LIBRARY_PATH\",\"devices\":[]}")");
    ::unsetenv("LD_LIBRARY_PATH");
    REQUIRE(answer);
    REQUIRE(answer->version == "");
}
