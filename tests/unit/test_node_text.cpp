// What discover prints for people, and a node read back from its JSON.
#include "commands/node_text.hpp"
#include "node/json.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace amd_gpu;

namespace {

/// The GCDs of an MI250X node whose KFD, SMI and DRM orders are all different from the order on PCI.
node mi250x_node() {
    node n;
    n.name = "nid001001";
    n.boot_id = "8f5a2f0e-0000-4000-8000-000000000001";
    n.sources = {8, 8, 8};
    n.versions = {{"kernel", "5.14.21"}, {"driver", "6.3.6"}};
    const uint32_t buses[] = {0xc1, 0xc6, 0xc9, 0xce, 0xd1, 0xd6, 0xd9, 0xde};
    const uint32_t first_core[] = {48, 56, 16, 24, 0, 8, 32, 40};
    for (uint32_t i = 0; i < 8; ++i) {
        gcd g;
        g.index = i;
        g.bdf = {0, buses[i], 0, 0};
        g.unique_id = 0xaabbccdd00000000U + i;
        g.package = i / 2;
        g.kind = gpu_kind::discrete;
        g.target = *parse_target("gfx90a:sramecc+");
        g.xnack = false;
        g.xnack_selectable = true;
        g.model = "MI250X";
        g.product = "AMD INSTINCT MI200 (MCM) OAM LC MBA HPE C2";
        g.pci_device = 0x7408;
        g.memory_bytes = 64ULL << 30;
        g.memory_shared_by = 1;
        g.vram_bytes = 64ULL << 30;
        g.compute_units = 110;
        g.xccs = 1;
        g.max_clock_mhz = 1700;
        g.numa = 3 - i / 2;
        for (uint32_t c = 0; c < 8; ++c)
            g.cores.push_back(first_core[i] + c);
        for (uint32_t c = 0; c < 8; ++c)
            g.cores.push_back(first_core[i] + c + 64);
        g.render_minor = 135 - i;
        g.kfd_node = 4 + i;
        g.kfd_gpu_id = 1000 + i;
        g.smi_index = (i + 3) % 8;
        g.pcie_gt_per_s = 16;
        g.pcie_width = 16;
        g.hive = 0x1234567890abcdefU;
        g.vbios = "113-D65209-073";
        g.firmware = {{"mec", "0x0000004e"}};
        g.bound = true;
        g.sources = {{"target", "kfd: topology/nodes/4/properties gfx_target_version"}, {"cores", "hwloc: L3"}};
        n.gcds.push_back(g);
    }
    for (uint32_t i = 0; i < 8; i += 2) {
        n.links.push_back({i, i + 1, "xgmi", 4, 200.0});
        n.links.push_back({i + 1, i, "xgmi", 4, 200.0});
    }
    n.links.push_back({0, 2, "pcie", std::nullopt, std::nullopt});
    return n;
}

/// Eight boards in CPX: 64 partitions, all joined inside a board and across.
node cpx_node() {
    node n;
    n.name = "cpx";
    n.sources = {8, 64, 64};
    for (uint32_t i = 0; i < 64; ++i) {
        gcd g;
        g.index = i;
        g.bdf = {i < 32 ? 1U : 2U, i / 8 + 5, 0, 0};
        g.partition = i % 8;
        g.package = i / 8;
        g.model = "MI300X";
        g.target = *parse_target("gfx942:sramecc+");
        g.memory_bytes = 48ULL << 30;
        g.memory_shared_by = 2;
        g.compute_partition = "CPX";
        g.memory_partition = "NPS4";
        g.bound = true;
        n.gcds.push_back(g);
    }
    for (uint32_t a = 0; a < 64; ++a)
        for (uint32_t b = 0; b < 64; ++b)
            if (a != b && !(a == 0 && b == 63))
                n.links.push_back({a, b, a / 8 == b / 8 ? "internal" : "xgmi",
                                   a / 8 == b / 8 ? std::nullopt : std::optional<uint32_t>(1),
                                   a / 8 == b / 8 ? std::nullopt : std::optional<double>(64)});
    return n;
}

std::size_t widest(const std::string& text) {
    std::size_t most = 0;
    for (const auto& line : split(text, '\n'))
        most = std::max(most, line.size());
    return most;
}

std::string line_with(const std::string& text, const std::string& part) {
    for (const auto& line : split(text, '\n'))
        if (line.find(part) != std::string::npos)
            return line;
    return "no line with " + part;
}

} // namespace

TEST_CASE("a GCD's row has each of the numbers that people mix up", "[discover][case:VIS-4]") {
    const auto text = node_overview(mi250x_node());
    CHECK(line_with(text, "PCI address") ==
          "GCD  PCI address   pkg  model   target           memory  NUMA  closest cores  render  SMI  PCIe");
    CHECK(line_with(text, "c6:00.0") ==
          "  1  0000:c6:00.0    0  MI250X  gfx90a:sramecc+  64 GiB     3  56-63,120-127  D134      4  Gen4 x16");
    CHECK(widest(text) <= 100);
    CHECK(text.find("GPUs: 8 on PCI, 8 in KFD, 8 in SMI") != std::string::npos);
    CHECK(text.find("Versions: driver 6.3.6, kernel 5.14.21") != std::string::npos);
}

TEST_CASE("what is unknown is a dash, and never a number", "[discover]") {
    node n;
    n.name = "bare";
    n.gcds.resize(2);
    n.gcds[1].index = 1;
    n.gcds[1].bdf = {0, 2, 0, 0};
    n.gcds[1].bound = true;
    const auto text = node_overview(n);
    CHECK(line_with(text, "0000:00:00.0") ==
          "  0  0000:00:00.0    -  -      not bound       -     -  -              -         -  -");
    CHECK(line_with(text, "0000:02:00.0") ==
          "  1  0000:02:00.0    -  -      -               -     -  -              -         -  -");
    CHECK(text.find("GPUs: - on PCI, - in KFD, - in SMI") != std::string::npos);
}

TEST_CASE("a half-known PCIe link shows the half that is known", "[discover]") {
    auto n = mi250x_node();
    n.gcds[0].pcie_width = std::nullopt;
    n.gcds[1].pcie_gt_per_s = std::nullopt;
    n.gcds[2].pcie_gt_per_s = 12;
    const auto text = node_overview(n);
    CHECK(line_with(text, "c1:00.0").ends_with("Gen4 x?"));
    CHECK(line_with(text, "c6:00.0").ends_with("- x16"));
    CHECK(line_with(text, "c9:00.0").ends_with("12GT/s x16"));
}

TEST_CASE("partitions are grouped by board", "[discover][case:PART-1]") {
    const auto text = node_overview(cpx_node());
    const auto lines = split(text, '\n');
    CHECK(std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.starts_with("Board "); }) == 8);
    CHECK(line_with(text, "Board 0001:05") == "Board 0001:05:00.0: MI300X, CPX, NPS4, 8 partitions");
    CHECK(line_with(text, "0001:05:00.0/7").find("48 GiB shared by 2") != std::string::npos);
    const auto board = std::find(lines.begin(), lines.end(), "Board 0002:09:00.0: MI300X, CPX, NPS4, 8 partitions");
    REQUIRE(board != lines.end());
    CHECK((board + 1)->find("0002:09:00.0/0") != std::string::npos);
}

TEST_CASE("a product that is in no table does not push the rest off the screen", "[discover]") {
    auto n = mi250x_node();
    n.gcds[0].model = std::nullopt;
    n.gcds[1].model = std::nullopt;
    n.gcds[1].product = "AMD Radeon \x1b[31mevil and very long name";
    const auto text = node_overview(n);
    CHECK(line_with(text, "c1:00.0").find(" MI200 (MCM) OA ") != std::string::npos);
    CHECK(line_with(text, "c6:00.0").find(" ?[31mevil and  ") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("findings name their severity and device", "[discover]") {
    auto n = mi250x_node();
    n.findings = {{finding::severity::fault, "driver", pci_address{0, 0xce, 0, 0}, "no driver; load amdgpu"},
                  {finding::severity::note, "smi", std::nullopt, "old\nlibrary"}};
    for (const auto& text : {node_overview(n), node_topology(n)}) {
        CHECK(text.find("\nfault: 0000:ce:00.0: driver: no driver; load amdgpu\n") != std::string::npos);
        CHECK(text.ends_with("note: smi: old?library\n"));
    }
}

TEST_CASE("the topology is a matrix of pairs", "[discover][case:TOPO-1]") {
    const auto text = node_topology(mi250x_node());
    CHECK(line_with(text, "0000:c1").find(".  4x 200    pcie") != std::string::npos);
    CHECK(line_with(text, "0000:c9").find("4x 200") != std::string::npos); // one direction alone is no link back
    CHECK(line_with(text, "0000:c9").find("pcie") == std::string::npos);
    CHECK(widest(text) <= 100);
}

TEST_CASE("the topology of 64 partitions is one of boards", "[discover][case:PART-1]") {
    const auto text = node_topology(cpx_node());
    CHECK(split(text, '\n').size() < 20);
    CHECK(line_with(text, "0-7").find("to") == std::string::npos);
    CHECK(line_with(text, " 0-7 ").find("internal     1x 64     1x 64") != std::string::npos);
    CHECK(line_with(text, "0-7").ends_with("1x 64 (63/64)"));
}

TEST_CASE("every fact is explained by its source", "[discover]") {
    const auto text = node_explanation(mi250x_node());
    CHECK(line_with(text, "gfx_target_version").find("gfx90a:sramecc+") != std::string::npos);
    CHECK(line_with(text, "hwloc: L3").find("48-55,112-119") != std::string::npos);
    CHECK(text.find("GCD 7 0000:de:00.0") != std::string::npos);
}

TEST_CASE("a node comes back from its JSON as it was", "[node][json]") {
    for (auto n : {mi250x_node(), cpx_node(), node{}}) {
        n.findings = {{finding::severity::warning, "smi", std::nullopt, "text"},
                      {finding::severity::fault, "driver", pci_address{1, 2, 3, 4}, "text"}};
        const auto text = json_text(n, true);
        const auto back = node_from_json(text);
        REQUIRE(back);
        CHECK(json_text(*back, true) == text);
        CHECK(back->gcds.size() == n.gcds.size());
        CHECK(back->findings[1].bdf == n.findings[1].bdf);
    }
}

TEST_CASE("JSON of a newer program is read, as far as it is known", "[node][json]") {
    const auto back = node_from_json(R"({"schema":1,"new":[1],"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","later":{}}]})");
    REQUIRE(back);
    CHECK(back->gcds[0].bdf.bus == 0xc1);
    CHECK_FALSE(back->gcds[0].memory_bytes);
    CHECK_FALSE(back->sources.pci);
}

TEST_CASE("a processor that only the kernel knows comes back from its JSON", "[node][json]") {
    node n;
    gcd die;
    die.bdf = {0, 0xc1, 0, 0};
    for (const uint32_t version : {90403U, 110015U, 70010U}) {
        die.target = target_id{*processor_from_kfd(version)};
        n.gcds = {die};
        const auto again = node_from_json(json_text(n));
        REQUIRE(again);
        CHECK(again->gcds[0].target == die.target);
    }
    std::string text = json_text(n);
    for (const std::string wrong : {"gfx", "gfx90", "gfxa0a", "gfx9-4", "gfx90g", "gfx12345"}) {
        text.replace(text.find("gfx70a"), 6, wrong);
        CHECK_FALSE(node_from_json(text));
        text = json_text(n);
    }
}

TEST_CASE("JSON that is no node is refused with the name of what is wrong", "[node][json]") {
    const std::pair<const char*, const char*> cases[] = {
        {"", "no JSON"},
        {"[]", "node is no object"},
        {R"({"node":"x"})", "schema is not 1"},
        {R"({"schema":2})", "schema is not 1"},
        {R"({"schema":1,"gcds":{}})", "gcds is no list"},
        {R"({"schema":1,"gcds":[3]})", "gcds[0] is no object"},
        {R"({"schema":1,"gcds":[{"gcd":0}]})", "gcds[0].bdf is missing"},
        {R"({"schema":1,"gcds":[{"gcd":1,"bdf":"0000:c1:00.0"}]})", "gcds[0].gcd is not the position"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"c1"}]})", "gcds[0].bdf cannot be \"c1\""},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","numa":-1}]})", "gcds[0].numa is no whole number"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","numa":4294967296}]})", "gcds[0].numa is too large"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","target":"gfx"}]})", "gcds[0].target cannot be"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","cores":[1.5]}]})", "gcds[0].cores is no list"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0","unique_id":"12"}]})", "gcds[0].unique_id cannot be"},
        {R"({"schema":1,"gcds":[{"gcd":0,"bdf":"0000:c1:00.0"}],"links":[{"from":0,"to":1}]})",
         "links[0] does not join"},
        {R"({"schema":1,"findings":[{"level":"bad"}]})", "findings[0].level cannot be \"bad\""},
        {R"({"schema":1,"sources":{"pci":"8"}})", "sources.pci is no whole number"},
    };
    for (const auto& [text, expected] : cases) {
        CAPTURE(text, expected);
        const auto back = node_from_json(text);
        REQUIRE_FALSE(back);
        CHECK(back.failure().code == error_code::peer);
        CHECK(back.failure().what.find(expected) != std::string::npos);
    }
}
