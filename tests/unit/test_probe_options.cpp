// The command line of amd-gpu-probe.
#include <catch2/catch.hpp>

#include "probes/gcd.hpp"
#include "probes/options.hpp"

using namespace amd_gpu;
using namespace amd_gpu::probes;

TEST_CASE("PCI addresses are brought into one form", "[probe]") {
    CHECK(normal_bdf("0000:c1:00.0") == "0000:c1:00.0");
    CHECK(normal_bdf("C1:00.0") == "0000:c1:00.0");
    CHECK(normal_bdf("00A1:0F:1c.7") == "00a1:0f:1c.7");
    for (const char* wrong : {"", "c1", "c1:00", "c1:00.8", "c1-00.0", "0000:c1:00.0 ", "000:c1:00.0", "g1:00.0"})
        CHECK_FALSE(normal_bdf(wrong));
}

TEST_CASE("gcd has defaults for everything but the address", "[probe]") {
    const auto parsed = parse_options({"gcd", "--bdf", "c1:00.0"});
    REQUIRE(parsed);
    CHECK(parsed->what == command::gcd);
    CHECK(parsed->gcds == std::vector<std::string>{"0000:c1:00.0"});
    CHECK(parsed->probes == std::vector<std::string>{"hbm_copy", "pattern", "fma64"});
    CHECK(parsed->sizes.bytes == 1U << 30U);
    CHECK(parsed->sizes.repeat == 20);
    CHECK(parsed->deadline == 60);
    CHECK_FALSE(parsed->hip_library);
}

TEST_CASE("options of the probe reach their places", "[probe]") {
    const auto parsed =
        parse_options({"gcd", "--bdf", "c1:00.0/2", "--probes", "fma64,pattern", "--bytes", "16777216", "--repeat", "3",
                       "--seed", "0xff", "--deadline", "2.5", "--hip", "/x/libamdhip64.so"});
    REQUIRE(parsed);
    CHECK(parsed->gcds == std::vector<std::string>{"0000:c1:00.0/2"});
    CHECK(parsed->probes == std::vector<std::string>{"fma64", "pattern"});
    CHECK(parsed->sizes.bytes == 16777216);
    CHECK(parsed->sizes.repeat == 3);
    CHECK(parsed->sizes.seed == 255);
    CHECK(parsed->deadline == 2.5);
    CHECK(parsed->hip_library == "/x/libamdhip64.so");
    CHECK(parse_options({"pairs", "--bdf", "c1:00.0", "--bdf", "c6:00.0"})->gcds.size() == 2);
    CHECK(parse_options({"targets"})->what == command::targets);
    const auto devices = parse_options({"devices", "--hip", "/x", "--deadline", "4"});
    REQUIRE(devices);
    CHECK(devices->what == command::devices);
    CHECK(devices->hip_library == "/x");
    CHECK(devices->deadline == 4);
    CHECK(parse_options({"gcd", "--help"})->what == command::help);
}

TEST_CASE("wrong command lines of the probe are refused", "[probe]") {
    const std::vector<std::vector<std::string>> wrong = {
        {},
        {"measure"},
        {"gcd"},
        {"gcd", "--bdf"},
        {"gcd", "--bdf", "c1:00.0", "--bdf", "c6:00.0"},
        {"gcd", "--bdf", "c1"},
        {"gcd", "--bdf", "c1:00.0", "--probes", ""},
        {"gcd", "--bdf", "c1:00.0", "--probes", "pattern,"},
        {"gcd", "--bdf", "c1:00.0", "--probes", "hbm"},
        {"gcd", "--bdf", "c1:00.0", "--bytes", "1G"},
        {"gcd", "--bdf", "c1:00.0", "--bytes", "0"},
        {"gcd", "--bdf", "c1:00.0", "--repeat", "1001"},
        {"gcd", "--bdf", "c1:00.0", "--repeat", "-1"},
        {"gcd", "--bdf", "c1:00.0", "--deadline", "0"},
        {"gcd", "--bdf", "c1:00.0", "--deadline", "nan"},
        {"gcd", "--bdf", "c1:00.0", "--hip", ""},
        {"gcd", "--bdf", "c1:00.0", "--frobnicate", "1"},
        {"pairs", "--bdf", "c1:00.0"},
        {"pairs", "--bdf", "c1:00.0", "--bdf", "0000:C1:00.0"},
        {"pairs", "--bdf", "c1:00.0", "--bdf", "c6:00.0", "--probes", "fma64"},
        {"targets", "--bdf", "c1:00.0"},
        {"devices", "--bdf", "c1:00.0"},
        {"devices", "--bytes", "4096"},
        {"devices", "--probes", "fma64"},
    };
    for (const auto& arguments : wrong) {
        const auto parsed = parse_options(arguments);
        REQUIRE_FALSE(parsed);
        CHECK(parsed.failure().code == error_code::usage);
        CHECK_FALSE(parsed.failure().what.empty());
    }
}

TEST_CASE("partitions of one function are found among the devices that HIP lists", "[probe][case:PART-2]") {
    const std::vector<std::string> all{"0001:02:00.0", "0001:02:00.0", "0001:02:00.0", "0001:42:00.0"};
    CHECK(ordinals_of(all, {"0001:02:00.0/2"}) == std::vector<int>{2});
    CHECK(ordinals_of(all, {"0001:42:00.0"}) == std::vector<int>{3});
    CHECK(ordinals_of(all, {"0001:02:00.0/3"}) == std::vector<int>{-1});
    CHECK(ordinals_of(all, {"0001:99:00.0"}) == std::vector<int>{-1});
    // The others are hidden: the visible ones are those that were asked for, in their order.
    CHECK(ordinals_of({"0001:02:00.0"}, {"0001:02:00.0/4"}) == std::vector<int>{0});
    CHECK(ordinals_of({"0001:02:00.0", "0001:02:00.0", "0001:42:00.0"},
                      {"0001:02:00.0/4", "0001:42:00.0/1", "0001:02:00.0/5"}) == std::vector<int>{0, 2, 1});
    // Some runtimes give each partition a function number of its own, which is not on the bus.
    CHECK(ordinals_of({"0001:02:00.0", "0001:02:00.1", "0001:02:00.2"}, {"0001:02:00.0/2"}) == std::vector<int>{2});
}
