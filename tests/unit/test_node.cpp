// PCI addresses, CPU lists and the JSON of a node.
#include "node/json.hpp"
#include "ranges.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace amd_gpu;

TEST_CASE("PCI addresses are read and written in the kernel's form", "[node]") {
    REQUIRE(pci_address::parse("0000:c1:00.0") == pci_address{0, 0xc1, 0, 0});
    REQUIRE(pci_address::parse("c6:1f.7") == pci_address{0, 0xc6, 0x1f, 7});
    REQUIRE(pci_address::parse("10000:01:00.0") == pci_address{0x10000, 1, 0, 0});
    REQUIRE(pci_address{1, 2, 3, 4}.text() == "0001:02:03.4");
    REQUIRE(pci_address{0x10000, 2, 3, 4}.text() == "10000:02:03.4");
    for (const char* bad : {"", ".", ":", "0000:c1:00", "0000:c1:20.0", "0000:c1:00.8", "0000:1c1:00.0",
                            "0000:c1:00.0 ", "g0:00.0", "0000:c1:00.00", "0000::00.0", "0:0:0:0.0", "-1:00.0"}) {
        CAPTURE(bad);
        REQUIRE_FALSE(pci_address::parse(bad));
    }
}

TEST_CASE("PCI addresses are decoded from a location id", "[node]") {
    REQUIRE(pci_address::from_id(0, 0xc100) == pci_address{0, 0xc1, 0, 0});
    REQUIRE(pci_address::from_id(1, 0x020b) == pci_address{1, 2, 1, 3});
    REQUIRE(pci_address::from_id(0, 0x30000c00) == pci_address{0, 0x0c, 0, 0}); // partition bits are not part of it
}

TEST_CASE("CPU lists have ranges", "[node]") {
    REQUIRE(ranges_text({}) == "");
    REQUIRE(ranges_text({7}) == "7");
    REQUIRE(ranges_text({48, 49, 50, 112, 114, 115}) == "48-50,112,114-115");
}

TEST_CASE("links are found by direction", "[node]") {
    node n;
    n.links = {{0, 1, "xgmi", 4, 200.0}};
    REQUIRE(find_link(n, 0, 1)->links == 4);
    REQUIRE(find_link(n, 1, 0) == nullptr);
}

TEST_CASE("JSON says null for what is unknown and never leaves a name out", "[node][json]") {
    node n;
    n.name = "n1";
    n.sources.kfd = 1;
    n.gcds.resize(1);
    n.gcds[0].bdf = {0, 0xc1, 0, 0};
    n.links = {{0, 0, "xgmi", std::nullopt, std::nullopt}};
    n.findings = {{finding::severity::fault, "driver", pci_address{0, 0xc1, 0, 0}, "no driver"}};
    const auto j = nlohmann::json::parse(json_text(n));
    REQUIRE(j["schema"] == 1);
    REQUIRE(j["sources"] == nlohmann::json({{"pci", nullptr}, {"kfd", 1}, {"smi", nullptr}}));
    for (const char* name :
         {"partition", "unique_id", "package", "target", "product", "memory_bytes", "numa", "cores", "render_minor"}) {
        CAPTURE(name);
        REQUIRE(j["gcds"][0].contains(name));
        REQUIRE(j["gcds"][0][name].is_null());
    }
    REQUIRE(j["gcds"][0]["bdf"] == "0000:c1:00.0");
    REQUIRE(j["links"][0]["links"].is_null());
    REQUIRE(j["findings"][0]["level"] == "fault");
    REQUIRE_FALSE(j["gcds"][0].contains("sources"));
}

TEST_CASE("JSON survives a product name that is no text", "[node][json]") {
    node n;
    n.gcds.resize(1);
    n.gcds[0].product = "MI\xff\xfe\x01";
    n.gcds[0].unique_id = 0xffffffffffff0001;
    n.gcds[0].sources["product"] = "pci";
    const auto j = nlohmann::json::parse(json_text(n, true));
    REQUIRE(j["gcds"][0]["product"].get<std::string>().starts_with("MI"));
    REQUIRE(j["gcds"][0]["unique_id"] ==
            "0xffffffffffff0001"); // as a number it would lose its last digits in many readers
    REQUIRE(j["gcds"][0]["sources"]["product"] == "pci");
}

TEST_CASE("every fact of a GCD comes back from JSON", "[node][json]") {
    gcd g;
    g.index = 0;
    g.bdf = {0x10000, 0xc1, 0x1f, 7};
    g.partition = 7;
    g.unique_id = 0xfedcba9876543210;
    g.package = 3;
    g.kind = gpu_kind::virtual_function;
    g.target = *parse_target("gfx942:sramecc+");
    g.xnack = false;
    g.xnack_selectable = true;
    g.model = "MI300X";
    g.product = "AMD Instinct MI300X VF";
    g.pci_device = 0x74b5;
    g.memory_bytes = 25767706624;
    g.memory_shared_by = 2;
    g.vram_bytes = 206141652992;
    g.compute_partition = "CPX";
    g.memory_partition = "NPS4";
    g.compute_units = 38;
    g.xccs = 1;
    g.max_clock_mhz = 2100;
    g.numa = 1;
    g.cores = {0, 1, 4095};
    g.render_minor = 191;
    g.kfd_node = 65;
    g.kfd_gpu_id = 4294967294;
    g.smi_index = 63;
    g.pcie_gt_per_s = 2.5;
    g.pcie_width = 16;
    g.hive = 0xffffffffffff0001;
    g.vbios = "113-M3000100-102";
    g.firmware = {{"mec", "0x0000004e"}, {"ta_ras", "0x1b00013e"}};
    g.bound = true;
    node n;
    n.gcds = {g};

    const auto facts = nlohmann::json::parse(json_text(n))["gcds"][0];
    for (const auto& [name, value] : facts.items()) {
        CAPTURE(name);
        REQUIRE_FALSE(value.is_null()); // a fact that is set must be written
    }
    const auto back = node_from_json(json_text(n));
    REQUIRE(back);
    REQUIRE(nlohmann::json::parse(json_text(*back))["gcds"][0] == facts);
    REQUIRE(back->gcds[0].firmware == g.firmware);
    REQUIRE(back->gcds[0].kind == g.kind);
    REQUIRE(back->gcds[0].xnack_selectable == true);
    REQUIRE(back->gcds[0].id() == g.id());
}
