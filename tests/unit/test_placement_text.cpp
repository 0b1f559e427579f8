// What Slurm says of its binding, what masks leave visible, and the map as a user sees it.
#include "placement/map_text.hpp"
#include "placement/slurm_binding.hpp"
#include "placement/visibility.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

const std::vector<std::string> four_ids{"aaaa000000000001", "aaaa000000000002", "bbbb000000000003", ""};

std::vector<std::size_t> seen(visibility_variables variables, std::vector<std::string> ids = four_ids) {
    return visible(variables, ids).devices;
}

using list = std::vector<std::size_t>;

} // namespace

TEST_CASE("Slurm's binding of each rank is read from masks and maps", "[placement]") {
    CHECK(ranks_bound("mask_cpu:", "0x1,0x300", 2) == std::vector<cpu_list>{{0}, {8, 9}});
    CHECK(ranks_bound("quiet,mask_cpu:", "0xFF00000000000000FF", 1)[0].back() == 71);
    CHECK(ranks_bound("map_cpu:", "48,0x38,16", 3) == std::vector<cpu_list>{{48}, {56}, {16}});
    CHECK(ranks_bound("map_cpu:", "1,2", 5) == std::vector<cpu_list>{{1}, {2}, {1}, {2}, {1}}); // begins again
    CHECK(ranks_bound("mask_cpu:", "0x1*2,0x2", 3) == std::vector<cpu_list>{{0}, {0}, {1}});
    for (const char* odd : {"", ",", "0x", "0xg", "banana", "0x1,,0x2", "0x0", "1*0", "1*x", "-1"})
        CHECK(ranks_bound("mask_cpu:", odd, 2).empty());
    CHECK(ranks_bound("none", "0x1", 1).empty());
    CHECK(ranks_bound("cores", "", 1).empty());
    CHECK(ranks_bound("mask_cpu:", "0x" + std::string(100000, 'f'), 1).empty());
    CHECK(ranks_bound("map_cpu:", "0xffffffffffff", 1).empty());
}

TEST_CASE("masks compose: ROCR first, the upper layers count in what it leaves over", "[visibility][case:VIS-1]") {
    CHECK(seen({}) == list{0, 1, 2, 3});
    CHECK(seen({"1", {}, {}, {}}) == list{1});
    CHECK(seen({"1", {}, "0", {}}) == list{1});
    const auto none = visible({"1", {}, "1", {}}, four_ids);
    CHECK(none.devices.empty());
    REQUIRE(none.problems.size() == 2);
    CHECK(none.problems[0].find("CUDA_VISIBLE_DEVICES=1") != std::string::npos);
    CHECK(seen({"3,2,0", "2,0", {}, {}}) == list{0, 3});
}

TEST_CASE("HIP's own list goes before CUDA's, an empty one does not count", "[visibility][case:VIS-2]") {
    CHECK(seen({{}, "1", "2", {}}) == list{1});
    CHECK(seen({{}, "", "2", {}}) == list{2});
    CHECK(seen({"1", {}, "0,1", {}}) == list{1}); // the second names nothing: the list ends
    CHECK(visible({"1", {}, "0,1", {}}, four_ids).problems.size() == 1);
}

TEST_CASE("ids and numbers mix, ids may be shortened while they are unique", "[visibility][case:VIS-5][case:RSMI-3]") {
    CHECK(seen({"GPU-aaaa000000000002,GPU-bbbb000000000003", "1", {}, {}}) == list{2});
    CHECK(seen({"GPU-bbbb,0", {}, {}, {}}) == list{2, 0});
    CHECK(seen({"GPU-AAAA000000000001", {}, {}, {}}) == list{0});
    CHECK(seen({"GPU-aaaa", {}, {}, {}}).empty()); // two begin so
    CHECK(seen({"GPU-XX", {}, {}, {}}).empty());   // what a card without an id is called names none
    CHECK(seen({"GPU-", {}, {}, {}}).empty());
    const auto beyond = visible({"0,1", "2", {}, {}}, four_ids);
    CHECK(beyond.devices.empty());
    CHECK(beyond.problems[0].find("none of the 2 devices") != std::string::npos);
    CHECK(seen({"0,0,1", {}, {}, {}}) == list{0}); // a repetition ends the list
}

TEST_CASE("set but empty hides everything, and is not the same as unset", "[visibility][case:VIS-6]") {
    CHECK(seen({"", {}, {}, {}}).empty());
    CHECK(seen({"-1", {}, {}, {}}).empty());
    CHECK(seen({"7", {}, {}, {}}, {"", ""}).empty());
    CHECK(visible({"7", {}, {}, {}}, {"", ""}).problems.size() == 2);
    CHECK(seen({"0", {}, {}, {}}, {}).empty());
    CHECK(visible({{}, {}, {}, {}}, {}).problems.empty());
}

TEST_CASE("OpenCL's list leaves HIP's devices alone", "[visibility]") {
    const auto both = visible({"1", {}, {}, "1"}, four_ids);
    CHECK(both.devices == list{1});
    CHECK(both.problems.size() == 1);
}

TEST_CASE("hostile masks are read to the end of sense", "[visibility]") {
    for (const std::string& odd : {std::string(100000, ','), std::string("99999999999999999999"), std::string("0x1"),
                                   std::string("1;2"), std::string("GPU-\xff"), std::string(",")})
        CHECK(seen({odd, {}, {}, {}}).empty());
    CHECK(seen({" 1 , 2 ", {}, {}, {}}) == list{1, 2});
}

TEST_CASE("the map is a table with a line for each rank and each further GCD", "[placement]") {
    const std::vector<gcd_label> gcds{{4, "0000:d1:00.0", 0}, {5, "0000:d6:00.0", std::nullopt}};
    const auto lines = map_lines("n0", {{{0, 1}, {1, 2, 3, 65}, ""}, {{1}, {}, "not bound"}}, gcds, {8, 9});
    CHECK(lines == std::vector<std::string>{
                       "rank  node  GCD  BDF           NUMA  CPUs", "8     n0    4    0000:d1:00.0  0     1-3,65",
                       "            5    0000:d6:00.0  -", "9     n0    5    0000:d6:00.0  -     -       not bound"});
}
