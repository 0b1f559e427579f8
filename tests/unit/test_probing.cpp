// What probe children print, floors files, and who holds a GCD.
#include "probing/floors.hpp"
#include "probing/marker.hpp"
#include "probing/measurement.hpp"
#include "probing/prober.hpp"
#include "system/files.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <unistd.h>

using namespace amd_gpu;

namespace {

constexpr const char* row =
    "[[floor]]\nprocessor = \"gfx90a\"\nprobe = \"hbm_copy\"\nfloor = 1147\nunit = \"GB/s\"\nsource = \"a paper\"\n";

} // namespace

TEST_CASE("lines of a probe are read by their type", "[measurement]") {
    probe_report report;
    CHECK(add_line(report, R"({"type":"start","bdf":"0000:c1:00.0"})"));
    CHECK(add_line(
        report,
        R"({"type":"measurement","probe":"fma64","bdf":"0000:c1:00.0","value":20.3,"unit":"TFLOP/s","seconds":0.2})"));
    CHECK(add_line(report, R"({"type":"link","from":"0000:c1:00.0","to":"0000:c6:00.0","value":148,"verified":true})"));
    CHECK(add_line(report, R"({"type":"something_new","x":1})"));
    CHECK(add_line(report, R"({"type":"end"})"));
    REQUIRE(report.measurements.size() == 1);
    CHECK(report.measurements[0].value == 20.3);
    CHECK(report.links.size() == 1);
    CHECK(report.ended);
}

TEST_CASE("lines that are not what a probe prints are refused", "[measurement]") {
    probe_report report;
    for (const char* bad :
         {"", "garbage", "[]", "null", "\"x\"", R"({"type":"measurement","bdf":"nowhere","value":1})",
          R"({"type":"measurement","bdf":"0000:c1:00.0"})", R"({"type":"measurement","bdf":"0000:c1:00.0","value":-1})",
          R"({"type":"measurement","bdf":"0000:c1:00.0","value":1e999})",
          R"({"type":"measurement","bdf":"0000:c1:00.0","value":null})",
          R"({"type":"link","from":"0000:c1:00.0","to":"0000:c6:00.0","value":1})"}) {
        CAPTURE(bad);
        CHECK_FALSE(add_line(report, bad));
    }
    CHECK(report.measurements.empty());
    CHECK(report.links.empty());
}

TEST_CASE("the floors that are shipped can be read and say where they come from", "[floors]") {
    const auto table = load_floors("etc/floors");
    REQUIRE(table);
    REQUIRE_FALSE(table->empty());
    for (const auto& floor : *table)
        CHECK(floor.source.size() > 20);
    gcd die;
    die.target = *parse_target("gfx90a");
    die.compute_units = 104;
    REQUIRE(find_floor(*table, die, "fma64") != nullptr);
    CHECK(find_floor(*table, die, "fma64")->floor == Approx(15.3));
    CHECK(find_link_floor(*table, die, 4) != nullptr);
    CHECK(find_link_floor(*table, die, 3) == nullptr);
    die.target = *parse_target("gfx942");
    CHECK(find_floor(*table, die, "fma64") == nullptr);
    die.target.reset();
    CHECK(find_floor(*table, die, "hbm_copy") == nullptr);
}

TEST_CASE("a floors file with a mistake is refused with the line", "[floors]") {
    const temporary_directory at;
    const auto problem = [&](const std::string& content) {
        at.write("f.toml", content);
        const auto table = load_floors(at.path());
        REQUIRE_FALSE(table);
        CHECK(table.failure().code == error_code::configuration);
        return table.failure().what;
    };
    CHECK(problem(std::string(row) + "colour = 1\n").find("f.toml:7:") != std::string::npos);
    CHECK(problem("[[floor]]\nprocessor = \"gfx90b\"\n").find("gfx90b") != std::string::npos);
    CHECK(problem("[[floor]]\nprocessor = \"gfx90a\"\nprobe = \"x\"\nfloor = 1\nunit = \"GB/s\"\n").find("source") !=
          std::string::npos);
    CHECK(problem("[[floor]]\nprocessor = \"gfx90a\"\nfloor = -1\n").find("floor") != std::string::npos);
    CHECK(problem("floor = 3\n").find("[[floor]]") != std::string::npos);
    CHECK(problem("[[floor]\n").find("f.toml:1:") != std::string::npos);
}

TEST_CASE("no directory means no floors", "[floors]") {
    const auto table = load_floors("/no/such/directory");
    REQUIRE(table);
    CHECK(table->empty());
}

TEST_CASE("a row for a CU count wins over one for the whole processor", "[floors]") {
    const temporary_directory at;
    at.write("f.toml", std::string(row) + row + "compute_units = 104\n");
    const auto table = load_floors(at.path());
    REQUIRE(table);
    gcd die;
    die.target = *parse_target("gfx90a");
    die.compute_units = 104;
    CHECK(find_floor(*table, die, "hbm_copy")->compute_units == 104U);
    die.compute_units = 110;
    CHECK_FALSE(find_floor(*table, die, "hbm_copy")->compute_units);
}

TEST_CASE("levels contain the ones before them", "[prober]") {
    const std::vector<gcd_id> one{pci_address{0, 0xc1, 0, 0}};
    const std::vector<gcd_id> two{pci_address{0, 0xc1, 0, 0}, pci_address{0, 0xc6, 0, 0}};
    CHECK(plan_for(probe_level::off, two).gcds.empty());
    CHECK_FALSE(plan_for(probe_level::quick, one).links);
    CHECK(plan_for(probe_level::quick, two).links);
    const auto standard = plan_for(probe_level::standard, two).probes;
    for (const auto& probe : plan_for(probe_level::quick, two).probes)
        CHECK(std::find(standard.begin(), standard.end(), probe) != standard.end());
}

TEST_CASE("a GCD is held by a living process with memory or queues on it, by nobody else", "[prober]") {
    const temporary_directory at;
    gcd die;
    die.kfd_gpu_id = 4711;
    const std::string proc = "class/kfd/kfd/proc/";
    const std::string self = std::to_string(::getpid());
    CHECK(users_of(die, at.path()).empty());
    // Opened /dev/kfd and uses nothing; another GPU; a process that is gone.
    at.write(proc + self + "/vram_4711", "0\n");
    at.write(proc + self + "/vram_1", "1000\n");
    at.write(proc + "999999999/vram_4711", "1000\n");
    at.write(proc + "nonsense/vram_4711", "1000\n");
    CHECK(users_of(die, at.path()).empty());
    at.write(proc + self + "/vram_4711", "1000\n");
    CHECK(users_of(die, at.path()) == std::vector<std::string>{"pid " + self});
    at.write(proc + self + "/vram_4711", "0\n");
    at.write(proc + self + "/queues/0/gpuid", "4711\n");
    CHECK(users_of(die, at.path()) == std::vector<std::string>{"pid " + self});
    gcd unknown;
    CHECK(users_of(unknown, at.path()).empty());
}

TEST_CASE("a marker of this boot means nothing, one of an earlier boot says that the node went down",
          "[marker][case:MISS-5]") {
    const temporary_directory at;
    const pci_address c1{0, 0xc1, 0, 0};
    const pci_address c6{0, 0xc6, 0, 0};
    const probe_markers before(at.path() + "/state", "boot-1");
    REQUIRE(before.set({c1}));
    CHECK(before.unfinished({c1, c6}).empty());
    const probe_markers now(at.path() + "/state", "boot-2");
    CHECK(now.unfinished({c1, c6}) == std::vector<gcd_id>{c1});
    REQUIRE(now.set({c6}));
    now.clear_own(); // an agent of this boot that was killed
    CHECK(list_directory(at.path() + "/state") == std::vector<std::string>{"probing-0000:c1:00.0"});
    now.clear({c1, c6});
    CHECK(now.unfinished({c1, c6}).empty());
    CHECK_FALSE(probe_markers("/proc/nowhere", "boot-1").set({c1}));
}
