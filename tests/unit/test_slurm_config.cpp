// The lines that describe a node's GPUs to Slurm.
#include "commands/slurm_config_text.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

/// Two dies of one package near the second half of an 8-core processor, whose device files are in reverse order.
node two_dies() {
    node n;
    n.name = "n1";
    for (uint32_t i = 0; i < 2; ++i) {
        gcd g;
        g.index = i;
        g.bdf = {0, 0xc1 + i, 0, 0};
        g.bound = true;
        g.model = "MI250X";
        g.target = *parse_target("gfx90a:sramecc+");
        g.numa = 1;
        g.cores = {4 + 2 * i, 5 + 2 * i, 12 + 2 * i, 13 + 2 * i};
        g.render_minor = 129 - i;
        n.gcds.push_back(g);
    }
    n.links = {{0, 1, "xgmi", 4, 200.0}, {1, 0, "xgmi", 4, 200.0}};
    return n;
}

std::vector<slurm_core> eight_cores() {
    std::vector<slurm_core> cores;
    for (uint32_t i = 0; i < 8; ++i)
        cores.push_back({0, {i, i + 8}});
    return cores;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("GPUs stand in the order of their device files, one a line without spaces in lists",
          "[slurm_config][case:GRES-1][case:GRES-2]") {
    const auto text = slurm_config(two_dies(), eight_cores(), "n1");
    REQUIRE(text);
    CHECK(has(*text, "NodeName=n1 AutoDetect=off Name=gpu Type=mi250x File=/dev/dri/renderD128 Cores=4-7 Links=-1,4 "
                     "Flags=amd_gpu_env\n"
                     "NodeName=n1 AutoDetect=off Name=gpu Type=mi250x File=/dev/dri/renderD129 Cores=4-7 Links=4,-1 "
                     "Flags=amd_gpu_env\n"));
    CHECK(has(*text, "#   NodeName=n1 Gres=gpu:mi250x:2 Feature=amdgpu,gfx90a,mi250x\n"));
}

TEST_CASE("cores fewer than a processor's come with the setting that they need", "[slurm_config][case:GRES-6]") {
    auto cores = eight_cores();
    CHECK(has(*slurm_config(two_dies(), cores, "n1"), "SlurmdParameters=numa_node_as_socket"));
    for (uint32_t i = 4; i < 8; ++i)
        cores[i].package = 1;
    CHECK_FALSE(has(*slurm_config(two_dies(), cores, "n1"), "numa_node_as_socket"));
}

TEST_CASE("cores are Slurm's numbers and not Linux's", "[slurm_config][case:GRES-3]") {
    std::vector<slurm_core> cores; // Linux counts across two processors in turn
    for (uint32_t i = 0; i < 8; ++i)
        cores.push_back({i / 4, {i % 4 * 2 + i / 4}});
    auto n = two_dies();
    n.gcds[0].cores = {1, 3};
    n.gcds[1].cores = {5, 7};
    CHECK(has(*slurm_config(n, cores, "n1"), " Cores=4-7 "));
}

TEST_CASE("where the GPUs sit may be unknown", "[slurm_config]") {
    auto n = two_dies();
    for (auto& g : n.gcds) {
        g.cores.clear();
        g.numa = std::nullopt;
    }
    const auto text = slurm_config(n, eight_cores(), "n1");
    REQUIRE(text);
    CHECK(has(*text, "# without Cores"));
    CHECK_FALSE(has(*text, "Cores="));
}

TEST_CASE("what cannot be given to a job is left out in words", "[slurm_config][case:MIX-1]") {
    auto n = two_dies();
    n.gcds[0].kind = gpu_kind::integrated;
    auto text = slurm_config(n, eight_cores(), "n1");
    REQUIRE(text);
    CHECK(has(*text, "# 0000:c1:00.0: the graphics unit"));
    CHECK_FALSE(has(*text, "Links"));
    n.gcds[0].kind = std::nullopt;
    n.gcds[0].bound = false;
    text = slurm_config(n, eight_cores(), "n1");
    REQUIRE(text);
    CHECK(has(*text, "# 0000:c1:00.0: MISSING"));
    CHECK(has(*text, "gpu:mi250x:1 "));
}

TEST_CASE("no lines are printed that Slurm would trip over", "[slurm_config]") {
    auto n = two_dies();
    n.gcds[1].render_minor = std::nullopt;
    CHECK(has(slurm_config(n, eight_cores(), "n1").failure().what, "0000:c2:00.0: its device file"));
    n.gcds[1].render_minor = 129;
    CHECK(has(slurm_config(n, eight_cores(), "n1").failure().what, "the same device file"));
    n = two_dies();
    n.gcds[0].model = std::nullopt;
    n.gcds[0].target = std::nullopt;
    CHECK(has(slurm_config(n, eight_cores(), "n1").failure().what, "neither its model"));
    CHECK(has(slurm_config(node{}, eight_cores(), "n1").failure().what, "no AMD GPU"));
    n.gcds[0].model = "Radeon, Pro (W) #1";
    CHECK(has(*slurm_config(n, eight_cores(), "n1"), "Type=radeon__pro__w___1 "));
}
