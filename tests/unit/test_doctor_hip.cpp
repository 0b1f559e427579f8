// Doctor's checks of the HIP runtime and of the variables that change what it lists.
#include "doctor/gather.hpp"
#include "doctor/hip_checks.hpp"

#include "temporary_directory.hpp"
#include <catch2/catch.hpp>

using namespace amd_gpu;
using state = step::state;

namespace {

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

hip_view listing(std::size_t devices, const std::string& library = "/opt/rocm/lib/libamdhip64.so.6") {
    hip_view view{library, 60240134, {}, ""};
    for (std::size_t i = 0; i < devices; ++i)
        view.devices.push_back({"0000:c" + std::to_string(i) + ":00.0", "gfx90a:sramecc+:xnack-"});
    return view;
}

/// GCDs of one processor at the addresses of `listing`.
node node_of(const std::string& target, bool xnack, bool selectable, uint32_t gpus = 2) {
    node here;
    for (uint32_t i = 0; i < gpus; ++i) {
        gcd& die = here.gcds.emplace_back();
        die.index = i;
        die.bdf.bus = 0xc0 + i;
        die.target = *parse_target(target);
        die.xnack = xnack;
        die.xnack_selectable = selectable;
    }
    return here;
}

} // namespace

TEST_CASE("what the probe says of HIP is read", "[doctor]") {
    const auto whole = parse_hip_view("{\"type\":\"runtime\",\"hip\":\"/lib/libamdhip64.so.5\"}\n"
                                      "{\"type\":\"devices\",\"runtime_version\":50221153,\"devices\":["
                                      "{\"bdf\":\"0000:c1:00.0\",\"target\":\"gfx90a\"},{\"bdf\":\"0000:c6:00.0\","
                                      "\"target\":null}]}\n{\"type\":\"end\",\"seconds\":0.1}\n");
    REQUIRE(whole);
    CHECK(whole->library == "/lib/libamdhip64.so.5");
    CHECK(hip_version_text(whole->version.value_or(0)) == "5.2.21153");
    REQUIRE(whole->devices.size() == 2);
    CHECK(whole->devices[0].target == "gfx90a");
    CHECK(whole->devices[1].target.empty());
    CHECK(whole->failure.empty());

    const auto failed = parse_hip_view("{\"type\":\"runtime\",\"hip\":\"/x\"}\n"
                                       "{\"type\":\"error\",\"code\":100,\"text\":\"hipErrorNoDevice\"}\n");
    REQUIRE(failed);
    CHECK(failed->failure == "hipErrorNoDevice");
    const auto stopped = parse_hip_view("{\"type\":\"runtime\",\"hip\":\"/x\"}\n");
    REQUIRE(stopped);
    CHECK_FALSE(stopped->failure.empty());
    CHECK_FALSE(parse_hip_view(""));
    CHECK_FALSE(parse_hip_view("usage\n[]\n{\"type\":\"end\"}\n"));
    CHECK_FALSE(parse_hip_view("{\"type\":\"devices\",\"devices\":7}\n"));
}

TEST_CASE("HIP is judged in this process and without its variables", "[doctor][case:INIT-4][case:VIS-6]") {
    CHECK(check_hip(std::nullopt, std::nullopt).found == state::unknown);
    const auto right = check_hip(listing(8), listing(8));
    CHECK(right.found == state::ok);
    CHECK(right.text == "HIP 6.2.40134 (/opt/rocm/lib/libamdhip64.so.6) lists 8 GPUs");
    CHECK(says(check_hip(listing(2), listing(8)).text, "lists 2 GPUs, variables hide 6"));
    CHECK(says(check_hip(listing(2, "/env/lib/libamdhip64.so.6"), listing(2)).text, "in place of this node's"));

    const auto none = check_hip(listing(0), listing(8));
    CHECK(none.found == state::wrong);
    CHECK(says(none.text, "lists no GPU; without this process's variables it lists 8"));
    hip_view broken{"", std::nullopt, {}, "undefined symbol: hsa_amd_x"};
    CHECK(check_hip(broken, listing(8)).found == state::wrong);
    CHECK(says(check_hip(broken, listing(8)).text, "undefined symbol"));
    CHECK(check_hip(broken, std::nullopt).found == state::warning);
    broken.library = "/lib/libamdhip64.so.5";
    CHECK(check_hip(broken, broken).found == state::wrong);
}

TEST_CASE("overrides of the processor are shown beside the real one", "[doctor][case:ARCH-11][case:ARCH-12]") {
    const node here = node_of("gfx1031", false, false);
    CHECK(check_overrides({}, here, listing(2)).empty());
    CHECK(check_overrides({{"HSA_OVERRIDE", "1"}, {"HSA_OVERRIDE_GFX_VERSIONS", "1"}}, here, listing(2)).empty());
    auto fooled = listing(2);
    for (auto& one : fooled.devices)
        one.target = "gfx1030";
    const auto steps = check_overrides(
        {{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}, {"HSA_OVERRIDE_GFX_VERSION_1", "11.0.0"}}, here, fooled);
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].found == state::warning);
    CHECK(says(steps[0].text, "(really gfx1031; HIP takes them for gfx1030)"));
    CHECK(says(steps[1].text, "HSA_OVERRIDE_GFX_VERSION_1=11.0.0"));
    // No effect is claimed that is not seen.
    const auto unseen = check_overrides({{"HSA_OVERRIDE_GFX_VERSION", "10.3.0"}}, here, std::nullopt);
    CHECK(says(unseen.at(0).text, "(really gfx1031)"));
}

TEST_CASE("the mode that HSA_XNACK asks for is told from the one that processes get",
          "[doctor][case:APU-4][case:ARCH-2]") {
    const node chosen = node_of("gfx942:sramecc+", false, true);
    CHECK(check_xnack({}, chosen)->text == "processes run as gfx942:sramecc+:xnack- (HSA_XNACK is not set)");
    CHECK(check_xnack({{"HSA_XNACK", "1"}}, chosen)->text == "processes run as gfx942:sramecc+:xnack+ (HSA_XNACK=1)");
    CHECK(check_xnack({{"HSA_XNACK", "yes"}}, chosen)->found == state::warning);

    const node fixed = node_of("gfx90a:sramecc+", false, false);
    CHECK(check_xnack({{"HSA_XNACK", "0"}}, fixed)->found == state::ok);
    const auto unheeded = check_xnack({{"HSA_XNACK", "1"}}, fixed);
    CHECK(unheeded->found == state::warning);
    CHECK(says(unheeded->text, "processes run as gfx90a:sramecc+:xnack-"));

    node mixed = node_of("gfx90a:sramecc+", false, true);
    mixed.gcds[1].xnack = true;
    CHECK(check_xnack({}, mixed)->found == state::warning);
    CHECK(check_xnack({{"HSA_XNACK", "1"}}, mixed)->found == state::ok);
    mixed.gcds[0].xnack.reset();
    mixed.gcds[1].xnack.reset();
    CHECK_FALSE(check_xnack({}, mixed));
}

TEST_CASE("two installations of ROCm in LD_LIBRARY_PATH are found", "[doctor][case:INIT-4]") {
    const temporary_directory at;
    at.write("old/libamdhip64.so.5", "");
    at.write("old/libhsa-runtime64.so.1", "");
    at.write("new/libamdhip64.so.6.2", "");
    at.write("other/libamdhip64x.so", "");
    const auto judged = [&](const std::string& list) { return check_library_path(rocm_directories(list)); };
    const std::string old = at.path() + "/old";
    const std::string fresh = at.path() + "/new";
    CHECK_FALSE(judged(""));
    CHECK_FALSE(judged(at.path() + "/other::" + at.path() + "/absent"));
    REQUIRE(judged(old));
    CHECK(judged(old)->found == state::ok);
    // The same directory twice is one.
    CHECK(judged(old + ":" + at.path() + "/new/../old")->found == state::ok);
    const auto both = judged(fresh + ":" + old);
    REQUIRE(both);
    CHECK(both->found == state::warning);
    CHECK(says(both->text, "libamdhip64 of more than one ROCm"));
}
