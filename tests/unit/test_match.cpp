// Which code fits which device, and which variant is chosen.
#include "target/match.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

using namespace amd_gpu;

namespace {

// As match_target, but of names that need not be known: a code object may carry any.
target_id target(const std::string& text) {
    const auto parsed = parse_target(text);
    return parsed ? *parsed : target_id{.processor = text};
}

fit how(const std::string& built, const std::string& device) {
    return match_target(target(built), target(device)).how;
}

std::string reason(const std::string& built, const std::string& device) {
    return match_target(target(built), target(device)).reason;
}

std::vector<target_id> set(const std::string& list) {
    std::istringstream in(list);
    std::vector<target_id> out;
    for (std::string word; in >> word;) {
        out.push_back(target(word));
    }
    return out;
}

best_match best(const std::vector<std::string>& candidates, const std::string& devices) {
    std::vector<std::vector<target_id>> sets;
    for (const std::string& one : candidates) {
        sets.push_back(set(one));
    }
    return choose(sets, set(devices));
}

constexpr auto mi250x = "gfx90a:sramecc+:xnack-";
constexpr auto mi300a = "gfx942:sramecc+:xnack-";

} // namespace

TEST_CASE("gfx90a matches by processor and by mode", "[target]") {
    CHECK(how("gfx90a", mi250x) == fit::any_mode);
    CHECK(how("gfx90a:xnack-", mi250x) == fit::exact);
    CHECK(how("gfx90a:sramecc+", mi250x) == fit::exact);
    CHECK(how("gfx90a:xnack-:sramecc+", mi250x) == fit::exact);
    CHECK(how("gfx90a:xnack+", mi250x) == fit::none);
    CHECK(how("gfx90a:sramecc-", mi250x) == fit::none);
    CHECK(how("gfx90a:sramecc+:xnack+", mi250x) == fit::none);
    CHECK(how("gfx90a:xnack+", "gfx90a:sramecc+:xnack+") == fit::exact);
}

TEST_CASE("no order, no prefix and no family joins processors", "[target][case:ARCH-3]") {
    for (const auto& [built, device] : std::vector<std::pair<std::string, std::string>>{{"gfx942", mi250x},
                                                                                        {"gfx90a", mi300a},
                                                                                        {"gfx908", mi250x},
                                                                                        {"gfx900", mi250x},
                                                                                        {"gfx90", mi250x},
                                                                                        {"gfx940", mi300a},
                                                                                        {"gfx941", mi300a},
                                                                                        {"gfx1030", "gfx1031"},
                                                                                        {"gfx1100", "gfx1101"},
                                                                                        {"gfx906", mi250x},
                                                                                        {"gfx9", mi250x},
                                                                                        {"", mi250x},
                                                                                        {"gfx90ab", mi250x}}) {
        INFO(built << " on " << device);
        CHECK(how(built, device) == fit::none);
        CHECK(reason(built, device) == "processor differs");
    }
}

TEST_CASE("every processor runs its own code and, but for generic code, no other's", "[target]") {
    for (const processor& built : known_processors()) {
        for (const processor& device : known_processors()) {
            if (built.name != built.canonical || device.name != device.canonical || device.generic) {
                continue;
            }
            const auto covered = covered_by(built.name);
            const bool covers = std::ranges::find(covered, device.name) != covered.end();
            const bool modes = device.has_sramecc || device.has_xnack;
            const fit expected = built.name == device.name ? (modes ? fit::any_mode : fit::exact)
                                 : covers                  ? fit::generic
                                                           : fit::none;
            INFO(built.name << " on " << device.name);
            CHECK(how(std::string(built.name), std::string(device.name)) == expected);
        }
    }
}

TEST_CASE("generic code runs on the processors that it covers", "[target]") {
    CHECK(how("gfx9-4-generic", mi300a) == fit::generic);
    CHECK(how("gfx9-4-generic", "gfx950:sramecc+:xnack-") == fit::generic);
    CHECK(how("gfx9-4-generic:xnack-", mi300a) == fit::generic);
    CHECK(how("gfx9-4-generic:xnack+", mi300a) == fit::none);
    CHECK(how("gfx9-4-generic", mi250x) == fit::none);
    CHECK(how("gfx9-generic", "gfx906:sramecc+:xnack-") == fit::generic);
    CHECK(how("gfx9-generic", "gfx908:sramecc+:xnack-") == fit::none);
    CHECK(how("gfx9-generic", mi250x) == fit::none);
    CHECK(how("gfx11-generic", "gfx1151") == fit::generic);
    CHECK(how("gfx11-generic", "gfx1201") == fit::none);
    CHECK(how("gfx10-3-generic", "gfx1030") == fit::generic);
    CHECK(how("gfx12-generic", "gfx1201") == fit::generic);
    CHECK(how("gfx12-generic", "gfx1250") == fit::none);
    CHECK(how("gfx99-generic", mi300a) == fit::none);
    CHECK(how("generic", mi300a) == fit::none);
}

TEST_CASE("what a device lacks or does not tell accepts code for any mode alone", "[target][case:ARCH-5]") {
    CHECK(how("gfx90a", "gfx90a") == fit::any_mode);
    CHECK(how("gfx90a:xnack-", "gfx90a") == fit::none);
    CHECK(reason("gfx90a:xnack-", "gfx90a") == "the device's xnack mode is not known");
    CHECK(how("gfx90a:sramecc+", "gfx90a:sramecc+") == fit::exact);
    CHECK(how("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+") == fit::none);
    CHECK(how("gfx90c:xnack-", "gfx90c") == fit::none);
    CHECK(how("gfx90c", "gfx90c") == fit::any_mode);
    // gfx1030 has no xnack at all: such code cannot even be named, but a code object may claim it.
    const target_id claims{"gfx1030", feature_mode::any, feature_mode::on};
    CHECK(match_target(claims, target("gfx1030")).how == fit::none);
    CHECK(match_target(claims, target("gfx1030")).reason == "device has no xnack");
    // Nor does a device with a mode that its processor cannot have make it fit.
    CHECK(match_target(claims, claims).how == fit::none);
    CHECK(how("gfx9-generic", "gfx90c") == fit::generic);
}

TEST_CASE("a device newer than the table runs code of its own name", "[target]") {
    const target_id device{.processor = "gfx1310"};
    CHECK(match_target(device, device).how == fit::exact);
    CHECK(match_target(target("gfx12-generic"), device).how == fit::none);
}

TEST_CASE("reasons name the device's mode", "[target]") {
    CHECK(reason("gfx90a:xnack+", mi250x) == "device has xnack-");
    CHECK(reason("gfx90a:sramecc-", mi250x) == "device has sramecc+");
    CHECK(reason("gfx90a", mi250x).empty());
    CHECK(name_of(fit::none) == "none");
    CHECK(name_of(fit::generic) == "generic");
    CHECK(name_of(fit::any_mode) == "any mode");
    CHECK(name_of(fit::exact) == "exact");
}

TEST_CASE("a set of targets must fit every device", "[target][case:ARCH-13]") {
    CHECK(best({"gfx90a gfx942"}, mi300a).chosen == 0U);
    CHECK_FALSE(best({"gfx90a"}, std::string(mi250x) + " " + mi300a).chosen);
    CHECK(best({"gfx90a gfx942"}, std::string(mi250x) + " " + mi300a).how == fit::any_mode);
    CHECK(best({"gfx942 gfx9-4-generic"}, "gfx950:sramecc+:xnack-").how == fit::generic);
    CHECK(best({"gfx90a:xnack- gfx9-4-generic"}, std::string(mi250x) + " " + mi300a).how == fit::generic);
    CHECK_FALSE(best({""}, mi250x).chosen);
    CHECK_FALSE(best({"gfx90a"}, "").chosen);
    CHECK_FALSE(best({}, mi250x).chosen);
    CHECK(best({}, mi250x).rejected.empty());
}

TEST_CASE("bundles for a device with sramecc on and xnack off", "[target][case:ARCH-1]") {
    const std::vector<std::string> bundles = {"gfx906 gfx908", "gfx90a", "gfx90a:xnack+", "gfx90a:xnack-",
                                              "gfx90a:sramecc-"};
    for (std::size_t i = 0; i < bundles.size(); ++i) {
        INFO(bundles[i]);
        CHECK(best({bundles[i]}, mi250x).chosen.has_value() == (i == 1 || i == 3));
    }
    const auto chosen = best(bundles, mi250x);
    CHECK(chosen.chosen == 3U);
    CHECK(chosen.how == fit::exact);
    REQUIRE(chosen.rejected.size() == 4);
    CHECK(chosen.rejected[0].candidate == 0);
    CHECK(chosen.rejected[0].reason == "processor differs");
    CHECK(chosen.rejected[1].reason == "fits (any mode), but the chosen one fits better (exact)");
    CHECK(chosen.rejected[2].reason == "device has xnack-");
    CHECK(chosen.rejected[3].candidate == 4);
    CHECK(chosen.rejected[3].reason == "device has sramecc+");
}

TEST_CASE("the best fit wins, then fewer targets, then the first", "[target]") {
    CHECK(best({"gfx9-4-generic", "gfx942", "gfx942:xnack-"}, mi300a).chosen == 2U);
    CHECK(best({"gfx942:xnack-", "gfx942", "gfx9-4-generic"}, mi300a).chosen == 0U);
    CHECK(best({"gfx9-4-generic", "gfx942"}, mi300a).chosen == 1U);
    CHECK(best({"gfx90a gfx942 gfx1030", "gfx90a gfx942", "gfx942 gfx90a"}, mi300a).chosen == 1U);
    CHECK(best({"gfx942", "gfx942"}, mi300a).chosen == 0U);
    const auto chosen = best({"gfx90a gfx942", "gfx942", "gfx942"}, mi300a);
    REQUIRE(chosen.rejected.size() == 2);
    CHECK(chosen.rejected[0].reason == "fits as well, but is built for more targets");
    CHECK(chosen.rejected[1].reason == "fits as well, but comes later");
}

TEST_CASE("a rejection among several devices or targets says which", "[target]") {
    const std::string both = std::string(mi250x) + " " + mi300a;
    CHECK(best({"gfx90a"}, both).rejected.at(0).reason == "gfx942:sramecc+:xnack-: processor differs");
    CHECK(best({"gfx906 gfx908"}, mi250x).rejected.at(0).reason == "processor differs");
    CHECK(best({"gfx906 gfx90a:xnack+ gfx90a:sramecc-"}, mi250x).rejected.at(0).reason ==
          "gfx90a:xnack+: device has xnack-, gfx90a:sramecc-: device has sramecc+");
    CHECK(best({""}, mi250x).rejected.at(0).reason == "built for no target");
}
