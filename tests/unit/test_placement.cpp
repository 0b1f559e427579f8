// Which rank gets which GCDs and CPUs, on every shape of node that is sold.
#include "placement/placement.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <set>

using namespace amd_gpu;

namespace {

/// A processor in which CPU c and c + cores are the two threads of core c.
struct machine {
    uint32_t cores = 0;
    std::vector<cpu_list> closest;

    [[nodiscard]] cpu_list both_threads(uint32_t first, uint32_t count) const {
        cpu_list cpus;
        for (uint32_t thread = 0; thread < 2; ++thread)
            for (uint32_t core = first; core < first + count; ++core)
                cpus.push_back(core + thread * cores);
        return cpus;
    }
    [[nodiscard]] cpu_list all() const { return both_threads(0, cores); }
    [[nodiscard]] placement_facts facts(uint32_t ranks) const {
        return {closest, ranks, {}, all(), [n = cores](uint32_t cpu) { return cpu % n; }};
    }
};

machine node_of(uint32_t cores, std::vector<uint32_t> first_cores, uint32_t per_gcd) {
    machine made{cores, {}};
    for (const auto first : first_cores)
        made.closest.push_back(made.both_threads(first, per_gcd));
    return made;
}

// The first core of each GCD's L3, in the order of PCI addresses, and how many cores it has.
machine mi250x() {
    return node_of(64, {48, 56, 16, 24, 0, 8, 32, 40}, 8);
}
machine mi300x() {
    return node_of(192, {0, 24, 48, 72, 96, 120, 144, 168}, 24);
}
/// Four sockets of three L3s with eight cores each; `parts` partitions of a board share them, two at a time.
machine mi300a(uint32_t parts) {
    machine made{96, {}};
    for (uint32_t socket = 0; socket < 4; ++socket)
        for (uint32_t part = 0; part < parts; ++part) {
            const uint32_t first = part * 3 / parts;
            const uint32_t caches = std::max(3 / parts, 1U);
            made.closest.push_back(made.both_threads(socket * 24 + first * 8, caches * 8));
        }
    return made;
}
machine without_places(uint32_t gcds) {
    return {64, std::vector<cpu_list>(gcds)};
}

std::vector<std::vector<std::size_t>> gcds_of(const std::vector<rank_place>& rows) {
    std::vector<std::vector<std::size_t>> list;
    for (const auto& row : rows)
        list.push_back(row.gcds);
    return list;
}

bool disjoint(const std::vector<rank_place>& rows) {
    std::set<uint32_t> seen;
    std::size_t count = 0;
    for (const auto& row : rows) {
        seen.insert(row.cpus.begin(), row.cpus.end());
        count += row.cpus.size();
    }
    return seen.size() == count;
}

using table = std::vector<std::vector<std::size_t>>;

} // namespace

TEST_CASE("eight ranks of an MI250X node get its GCDs in the order of their cores", "[placement][case:TOPO-1]") {
    const auto node = mi250x();
    const auto rows = place_ranks(node.facts(8));
    CHECK(gcds_of(rows) == table{{4}, {5}, {2}, {3}, {6}, {7}, {0}, {1}});
    for (uint32_t rank = 0; rank < 8; ++rank)
        CHECK(rows[rank].cpus == node.both_threads(rank * 8, 8));
}

TEST_CASE("cores that the site keeps are not given out: seven a rank, 56 a node", "[placement][case:TOPO-1]") {
    const auto node = mi250x();
    auto facts = node.facts(8);
    std::erase_if(facts.usable, [](uint32_t cpu) { return cpu % 8 == 0; });
    const auto rows = place_ranks(facts);
    CHECK(gcds_of(rows) == table{{4}, {5}, {2}, {3}, {6}, {7}, {0}, {1}});
    for (uint32_t rank = 0; rank < 8; ++rank)
        CHECK(rows[rank].cpus == node.both_threads(rank * 8 + 1, 7));
}

TEST_CASE("fewer ranks than GCDs: shares are contiguous, even, and each GCD is in one", "[placement]") {
    const auto three = place_ranks(mi250x().facts(3));
    CHECK(gcds_of(three) == table{{4, 5}, {2, 3, 6}, {7, 0, 1}});
    CHECK(disjoint(three));
    CHECK(three[0].cpus == mi250x().both_threads(0, 16));
    const auto four = place_ranks(mi250x().facts(4));
    CHECK(gcds_of(four) == table{{4, 5}, {2, 3}, {6, 7}, {0, 1}}); // whole packages
    const auto one = place_ranks(mi250x().facts(1));
    CHECK(one[0].gcds.size() == 8);
    CHECK(one[0].cpus.size() == 128);
    CHECK(one[0].remark.empty());
}

TEST_CASE("more ranks than GCDs: those of one GCD divide its cores, threads of a core together", "[placement]") {
    const auto node = mi250x();
    const auto rows = place_ranks(node.facts(16));
    CHECK(gcds_of(rows) == table{{4}, {4}, {5}, {5}, {2}, {2}, {3}, {3}, {6}, {6}, {7}, {7}, {0}, {0}, {1}, {1}});
    for (uint32_t rank = 0; rank < 16; ++rank)
        CHECK(rows[rank].cpus == node.both_threads(rank * 4, 4));
    // Seven cores for two ranks: nobody goes without, nothing is given twice.
    auto facts = node.facts(16);
    std::erase_if(facts.usable, [](uint32_t cpu) { return cpu % 8 == 0; });
    const auto uneven = place_ranks(facts);
    CHECK(disjoint(uneven));
    CHECK(uneven[0].cpus == node.both_threads(1, 3));
    CHECK(uneven[1].cpus == node.both_threads(4, 4));
}

TEST_CASE("more ranks than cores share them", "[placement]") {
    const auto node = node_of(2, {0, 1}, 1);
    const auto rows = place_ranks(node.facts(8));
    for (uint32_t rank = 0; rank < 8; ++rank) {
        CAPTURE(rank);
        CHECK(rows[rank].gcds == std::vector<std::size_t>{rank / 4});
        CHECK(rows[rank].cpus == node.both_threads(rank / 4, 1));
    }
}

TEST_CASE("every MI300A partition has a rank on its own socket", "[placement][case:PART-2][case:APU-6]") {
    for (const uint32_t parts : {1U, 3U, 6U}) {
        const auto node = mi300a(parts);
        const auto rows = place_ranks(node.facts(4 * parts));
        std::set<std::size_t> devices;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            CAPTURE(parts, rank);
            REQUIRE(rows[rank].gcds.size() == 1);
            devices.insert(rows[rank].gcds[0]);
            const auto socket = static_cast<uint32_t>(rank / parts);
            CHECK(rows[rank].gcds[0] / parts == socket);
            CHECK(rows[rank].cpus.size() == 48 / parts);
            for (const auto cpu : rows[rank].cpus)
                CHECK(cpu % 96 / 24 == socket);
        }
        CHECK(devices.size() == 4 * parts);
        CHECK(disjoint(rows));
    }
}

TEST_CASE("any number of ranks on any node: each has a GCD, each GCD a rank, no CPU two while there are enough",
          "[placement][case:PART-5]") {
    std::vector<machine> nodes{mi250x(),
                               mi300x(),
                               mi300a(1),
                               mi300a(3),
                               mi300a(6),
                               node_of(64, {0, 16, 32, 48}, 16),                   // 4 x MI100 or MI210
                               node_of(128, {0, 16, 32, 48, 64, 80, 96, 112}, 16), // 8 x MI355X
                               node_of(32, {0, 0, 0}, 32), // two MI210 and a W6800 beside one L3
                               node_of(16, {0}, 16)};      // a workstation
    machine cpx{192, {}};
    for (uint32_t part = 0; part < 72; ++part) // more partitions than any node has today
        cpx.closest.push_back(cpx.both_threads(part / 3 * 8, 8));
    nodes.push_back(cpx);
    for (const auto& node : nodes)
        for (uint32_t ranks = 1; ranks <= 80; ++ranks) {
            CAPTURE(node.cores, node.closest.size(), ranks);
            const auto rows = place_ranks(node.facts(ranks));
            REQUIRE(rows.size() == ranks);
            std::vector<unsigned> users(node.closest.size());
            for (const auto& row : rows) {
                REQUIRE_FALSE(row.gcds.empty());
                CHECK_FALSE(row.cpus.empty());
                for (const auto gcd : row.gcds)
                    ++users[gcd];
            }
            const auto [least, most] = std::minmax_element(users.begin(), users.end());
            CHECK(*least >= 1);
            CHECK(*most - *least <= 1);
            if (ranks <= node.closest.size() && node.closest.size() <= node.cores / 2)
                CHECK(disjoint(rows));
        }
}

TEST_CASE("ranks stay where Slurm put them when each is then beside a GCD of its own",
          "[placement][case:TOPO-1][case:TOPO-9]") {
    const auto node = mi250x();
    auto facts = node.facts(8);
    // One core a rank, in the order of GCDs: the usual map by hand.
    for (const uint32_t core : {49, 57, 17, 25, 1, 9, 33, 41})
        facts.bound.push_back({core});
    CHECK(gcds_of(place_ranks(facts)) == table{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}});

    SECTION("ranks bound to NUMA nodes of two GCDs find one each") {
        facts.bound.clear();
        for (uint32_t rank = 0; rank < 8; ++rank)
            facts.bound.push_back(node.both_threads(rank % 4 * 16, 16)); // round robin over NUMA nodes
        CHECK(gcds_of(place_ranks(facts)) == table{{4}, {2}, {6}, {0}, {5}, {3}, {7}, {1}});
    }
    SECTION("an earlier rank moves on when a later one has no other place") {
        const auto pair = node_of(16, {0, 8}, 8);
        auto two = pair.facts(2);
        two.bound = {{0, 1, 8}, {2}};
        CHECK(gcds_of(place_ranks(two)) == table{{1}, {0}});
    }
    SECTION("ranks crowded on one L3 get the GCDs in order") {
        facts.bound.assign(8, {0, 64});
        CHECK(gcds_of(place_ranks(facts)) == table{{4}, {5}, {2}, {3}, {6}, {7}, {0}, {1}});
    }
    SECTION("ranks that may run anywhere, too") {
        facts.bound.assign(8, node.all());
        CHECK(gcds_of(place_ranks(facts)) == table{{4}, {5}, {2}, {3}, {6}, {7}, {0}, {1}});
        auto three = node.facts(3); // and the larger share draws nobody
        three.bound.assign(3, node.all());
        CHECK(gcds_of(place_ranks(three)) == table{{4, 5}, {2, 3, 6}, {7, 0, 1}});
    }
}

TEST_CASE("nothing is bound by guess", "[placement][case:TOPO-5][case:TOPO-9][case:INIT-7]") {
    SECTION("places that are not known") {
        const auto rows = place_ranks(without_places(4).facts(4));
        CHECK(gcds_of(rows) == table{{0}, {1}, {2}, {3}});
        for (const auto& row : rows) {
            CHECK(row.cpus.empty());
            CHECK(row.remark.find("not known") != std::string::npos);
        }
    }
    SECTION("one place that is not known leaves the others bound") {
        auto node = mi250x();
        node.closest[2].clear();
        const auto rows = place_ranks(node.facts(8));
        CHECK(gcds_of(rows) == table{{4}, {5}, {3}, {6}, {7}, {0}, {1}, {2}});
        CHECK(rows[0].cpus.size() == 16);
        CHECK(rows[7].cpus.empty());
    }
    SECTION("a step without CPUs beside a GPU") {
        const auto node = mi250x();
        auto facts = node.facts(8);
        facts.usable = node.both_threads(0, 8);
        const auto rows = place_ranks(facts);
        CHECK(rows[0].cpus == node.both_threads(0, 8));
        CHECK(rows[1].cpus.empty());
        CHECK(rows[1].remark.find("none of the CPUs") != std::string::npos);
    }
}

TEST_CASE("one rank with one core and eight GPUs is remarked on and no error", "[placement][case:TOPO-10]") {
    auto facts = mi250x().facts(1);
    facts.usable = {0};
    const auto rows = place_ranks(facts);
    CHECK(rows[0].cpus == cpu_list{0});
    CHECK(rows[0].remark.find("1 CPUs drive 8 GPUs") != std::string::npos);
}

TEST_CASE("a node without GCDs and a step without ranks are no trouble", "[placement]") {
    CHECK(place_ranks({{}, 3, {}, {0, 1}, {}}).size() == 3);
    CHECK(place_ranks({{{0}}, 0, {}, {0}, {}}).empty());
}
