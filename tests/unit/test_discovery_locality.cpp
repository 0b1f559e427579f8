// Where GCDs sit: the sharing out of caches, and hwloc on a topology given as text.
#include "discovery/locality.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <map>

using namespace amd_gpu;

namespace {

using sets = std::vector<cache_threads>;
using shares = std::vector<sets>;

/// Two NUMA nodes of two L3 caches of two cores each, in hwloc's XML, with one GPU bridge below every node's group and
/// a third GPU at the machine itself.
std::string two_numa_nodes() {
    std::string xml =
        R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
<object type="Machine" os_index="0" cpuset="0xff" complete_cpuset="0xff" allowed_cpuset="0xff" nodeset="0x3" complete_nodeset="0x3" allowed_nodeset="0x3" gp_index="1">)";
    int id = 2;
    const auto gpu = [&](const std::string& bdf) {
        id += 2;
        return fmt::format(
            R"(<object type="Bridge" gp_index="{}" bridge_type="0-1" depth="0" bridge_pci="{}:[{}-{}]"><object type="PCIDev" gp_index="{}" pci_busid="{}" pci_type="0380 [1002:7408] [1002:0b0c] 01" pci_link_speed="0.0"/></object>)",
            id - 1, bdf.substr(0, 4), bdf.substr(5, 2), bdf.substr(5, 2), id, bdf);
    };
    for (unsigned numa = 0; numa < 2; ++numa) {
        const auto set = [&](unsigned bits, unsigned shift) {
            return fmt::format(
                R"(cpuset="0x{0:x}" complete_cpuset="0x{0:x}" nodeset="0x{1:x}" complete_nodeset="0x{1:x}")",
                bits << shift, 1U << numa);
        };
        xml += fmt::format(R"(<object type="Package" os_index="{}" {} gp_index="{}">)", numa, set(0xf, 4 * numa), ++id);
        xml += fmt::format(
            R"(<object type="NUMANode" os_index="{}" {} gp_index="{}" local_memory="1073741824"><page_type size="4096" count="262144"/></object>)",
            numa, set(0xf, 4 * numa), ++id);
        for (unsigned cache = 0; cache < 2; ++cache) {
            const unsigned first = 4 * numa + 2 * cache;
            xml += fmt::format(
                R"(<object type="L3Cache" {} gp_index="{}" cache_size="33554432" depth="3" cache_linesize="64" cache_associativity="16" cache_type="0">)",
                set(0x3, first), ++id);
            for (unsigned core = first; core < first + 2; ++core) {
                xml += fmt::format(
                    R"(<object type="Core" os_index="{0}" {1} gp_index="{2}"><object type="PU" os_index="{0}" {1} gp_index="{3}"/></object>)",
                    core, set(1, core), id + 1, id + 2);
                id += 2;
            }
            xml += "</object>";
        }
        xml += gpu(numa == 0 ? "0000:d1:00.0" : "0000:c1:00.0");
        if (numa == 1)
            xml += gpu("0000:c6:00.0");
        xml += "</object>";
    }
    return xml + gpu("0000:01:00.0") + "</object></topology>";
}

locality_query at(uint32_t bus, std::optional<uint32_t> numa) {
    return {{0, bus, 0, 0}, numa};
}

} // namespace

TEST_CASE("caches are shared out in order", "[discovery][locality]") {
    REQUIRE(share_caches({{48, 112}, {56, 120}}, 2) == shares{{{48, 112}}, {{56, 120}}});
    REQUIRE(share_caches({{0}, {1}, {2}}, 1) == shares{{{0}, {1}, {2}}});
    REQUIRE(share_caches({{0, 8}, {1, 9}, {2, 10}, {3, 11}}, 2) == shares{{{0, 8}, {1, 9}}, {{2, 10}, {3, 11}}});
    REQUIRE(share_caches({{0}, {1}, {2}}, 2) == shares{{{0}}, {{1}, {2}}});
    REQUIRE(share_caches({{0}, {1}}, 4) == shares{{{0}}, {{0}}, {{1}}, {{1}}});
    REQUIRE(share_caches({}, 2) == shares{{}, {}});
    REQUIRE(share_caches({{0}}, 0).empty());
}

TEST_CASE("GCDs of one NUMA node get its caches in the order of their addresses",
          "[discovery][locality][case:TOPO-1]") {
    const auto view = read_locality({at(0xc1, 1), at(0xc6, 1), at(0xd1, 0)}, two_numa_nodes());
    REQUIRE(view);
    REQUIRE(view->problems.empty());
    REQUIRE(view->places[0].numa == 1U);
    REQUIRE(view->places[0].cores == std::vector<uint32_t>{4, 5});
    REQUIRE(view->places[1].cores == std::vector<uint32_t>{6, 7});
    REQUIRE(view->places[2].numa == 0U);
    REQUIRE(view->places[2].cores == std::vector<uint32_t>{0, 1, 2, 3});
}

TEST_CASE("partitions share out what their board has, whatever the boards beside it do",
          "[discovery][locality][case:PART-2]") {
    // The board at c1 in three partitions, the one at c6 whole: half of the caches each.
    const auto view = read_locality({at(0xc1, 1), at(0xc1, 1), at(0xc1, 1), at(0xc6, 1)}, two_numa_nodes());
    REQUIRE(view);
    for (std::size_t part = 0; part < 3; ++part) {
        REQUIRE(view->places[part].numa == 1U);
        REQUIRE(view->places[part].cores == std::vector<uint32_t>{4, 5});
    }
    REQUIRE(view->places[3].cores == std::vector<uint32_t>{6, 7});

    const auto alone = read_locality({at(0xc1, 1), at(0xc1, 1), at(0xc1, 1)}, two_numa_nodes());
    REQUIRE(alone);
    REQUIRE(alone->places[0].cores == std::vector<uint32_t>{4, 5});
    REQUIRE(alone->places[1].cores == std::vector<uint32_t>{4, 5});
    REQUIRE(alone->places[2].cores == std::vector<uint32_t>{6, 7});
}

TEST_CASE("a GPU without NUMA node has no place and is no index", "[discovery][locality][case:TOPO-5][case:INIT-7]") {
    const auto view = read_locality({at(0x01, std::nullopt), at(0xee, 0), at(0xc1, std::nullopt)}, two_numa_nodes());
    REQUIRE(view);
    REQUIRE_FALSE(view->places[2].numa); // the bridge above it sits at a node, the function itself does not say so
    REQUIRE(view->places[2].cores.empty());
    REQUIRE_FALSE(view->places[0].numa);
    REQUIRE(view->places[0].cores.empty());
    REQUIRE_FALSE(view->places[1].numa); // not on this machine's bus at all
    REQUIRE(view->problems.empty());
}

TEST_CASE("sources that contradict each other leave the place unknown", "[discovery][locality][case:TOPO-11]") {
    const auto view = read_locality({at(0xc1, 0)}, two_numa_nodes());
    REQUIRE(view);
    REQUIRE_FALSE(view->places[0].numa);
    REQUIRE(view->places[0].cores.empty());
    REQUIRE(view->problems.size() == 1);
    REQUIRE(view->problems[0].find("0000:c1:00.0: PCI says NUMA node 0, but its local cores are 4-7") == 0);
}

TEST_CASE("two functions on each of four NUMA nodes get the published map of Frontier and LUMI",
          "[discovery][locality][case:TOPO-1]") {
    // EPYC 7A53: NUMA node N has the L3 caches 2N and 2N+1 of eight cores; GCDs in PCI order sit at 3 3 1 1 0 0 2 2.
    const std::vector<uint32_t> numa_of_gcd = {3, 3, 1, 1, 0, 0, 2, 2};
    const std::vector<uint32_t> first_core = {48, 56, 16, 24, 0, 8, 32, 40};
    std::map<uint32_t, std::size_t> taken;
    for (std::size_t gcd = 0; gcd < numa_of_gcd.size(); ++gcd) {
        const uint32_t numa = numa_of_gcd[gcd];
        const auto halves = share_caches({{16 * numa}, {16 * numa + 8}}, 2);
        REQUIRE(halves[taken[numa]++] == sets{{first_core[gcd]}});
    }
}

TEST_CASE("a topology that is none is an error", "[discovery][locality]") {
    REQUIRE_FALSE(read_locality({at(0xc1, 0)}, "nonsense"));
}
