// Target IDs: every known name, every refusal with its message, canonical form, KFD's numbers.
#include "target/spelling.hpp"
#include "target/target.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>
#include <vector>

using namespace amd_gpu;

namespace {

// Every name that LLVM's AMDGPU back end has had up to version 22 (llc -march=amdgcn -mcpu=help of 19 to 22).
constexpr auto all_names =
    "bonaire carrizo fiji generic generic-hsa gfx10-1-generic gfx10-3-generic gfx1010 gfx1011 gfx1012 "
    "gfx1013 gfx1030 gfx1031 gfx1032 gfx1033 gfx1034 gfx1035 gfx1036 gfx11-generic gfx1100 gfx1101 "
    "gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 gfx12-generic gfx1200 gfx1201 gfx1250 gfx1251 "
    "gfx600 gfx601 gfx602 gfx700 gfx701 gfx702 gfx703 gfx704 gfx705 gfx801 gfx802 gfx803 gfx805 gfx810 "
    "gfx9-4-generic gfx9-generic gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx940 gfx941 "
    "gfx942 gfx950 hainan hawaii iceland kabini kaveri mullins oland pitcairn polaris10 polaris11 "
    "stoney tahiti tonga tongapro verde";
// Those that clang lets carry the feature.
constexpr auto with_sramecc = "gfx906 gfx908 gfx90a gfx940 gfx941 gfx942 gfx950 gfx9-4-generic";
constexpr auto with_xnack =
    "carrizo gfx10-1-generic gfx1010 gfx1011 gfx1012 gfx1013 gfx801 gfx810 gfx9-4-generic gfx9-generic "
    "gfx900 gfx902 gfx904 gfx906 gfx908 gfx909 gfx90a gfx90c gfx940 gfx941 gfx942 gfx950 stoney";

std::vector<std::string> words(const std::string& list) {
    std::istringstream in(list);
    std::vector<std::string> out;
    for (std::string word; in >> word;) {
        out.push_back(word);
    }
    return out;
}

bool holds(const std::string& list, std::string_view word) {
    const auto all = words(list);
    return std::ranges::find(all, word) != all.end();
}

std::string refusal(std::string_view text) {
    const auto parsed = parse_target(text);
    REQUIRE_FALSE(parsed);
    REQUIRE(parsed.failure().code == error_code::usage);
    return parsed.failure().what;
}

std::string canonical(std::string_view text) {
    const auto parsed = parse_target(text);
    INFO(text);
    REQUIRE(parsed);
    return parsed->text();
}

} // namespace

TEST_CASE("the table holds exactly LLVM's names, sorted", "[target]") {
    std::vector<std::string> expected = words(all_names);
    std::ranges::sort(expected);
    std::vector<std::string> found;
    for (const processor& one : known_processors()) {
        found.emplace_back(one.name);
    }
    CHECK(found == expected);
}

TEST_CASE("each processor takes exactly the features that clang takes", "[target]") {
    for (const processor& one : known_processors()) {
        INFO(one.name);
        CHECK(one.has_sramecc == holds(with_sramecc, one.name));
        CHECK(one.has_xnack == holds(with_xnack, one.name));
        for (const std::string mode : {":sramecc+", ":sramecc-"}) {
            CHECK(static_cast<bool>(parse_target(std::string(one.name) + mode)) == one.has_sramecc);
        }
        for (const std::string mode : {":xnack+", ":xnack-"}) {
            CHECK(static_cast<bool>(parse_target(std::string(one.name) + mode)) == one.has_xnack);
        }
    }
}

TEST_CASE("every known name is a target, and only its exact spelling", "[target][case:ARCH-9]") {
    for (const processor& one : known_processors()) {
        const std::string name(one.name);
        INFO(name);
        CHECK(find_processor(name) == &one);
        CHECK(canonical(name) == one.canonical);
        CHECK_FALSE(parse_target(" " + name));
        CHECK_FALSE(parse_target(name + " "));
        CHECK_FALSE(parse_target(name + ":"));
        CHECK_FALSE(parse_target(name + std::string(1, '\0')));
        CHECK_FALSE(parse_target("G" + name.substr(1)));
    }
}

TEST_CASE("old product names stand for the gfx name", "[target]") {
    CHECK(canonical("polaris10") == "gfx803");
    CHECK(canonical("polaris11") == "gfx803");
    CHECK(canonical("fiji") == "gfx803");
    CHECK(canonical("tonga") == "gfx802");
    CHECK(canonical("tongapro") == "gfx805");
    CHECK(canonical("bonaire") == "gfx704");
    CHECK(canonical("hawaii") == "gfx701");
    CHECK(canonical("oland") == "gfx602");
    CHECK(canonical("carrizo:xnack+") == "gfx801:xnack+");
    CHECK(canonical("stoney:xnack-") == "gfx810:xnack-");
    for (const processor& one : known_processors()) {
        REQUIRE(find_processor(one.canonical) != nullptr);
        CHECK(find_processor(one.canonical)->canonical == one.canonical);
        CHECK(one.generic == one.name.ends_with("-generic"));
    }
}

TEST_CASE("every processor with every combination of modes survives printing and reading", "[target]") {
    constexpr std::array modes{feature_mode::any, feature_mode::off, feature_mode::on};
    std::set<std::string> paths;
    std::size_t targets = 0;
    for (const processor& one : known_processors()) {
        if (one.name != one.canonical) {
            continue;
        }
        for (const feature_mode sramecc : modes) {
            for (const feature_mode xnack : modes) {
                if ((sramecc != feature_mode::any && !one.has_sramecc) ||
                    (xnack != feature_mode::any && !one.has_xnack)) {
                    continue;
                }
                const target_id target{std::string(one.name), sramecc, xnack};
                const auto read = parse_target(target.text());
                INFO(target.text());
                REQUIRE(read);
                CHECK(*read == target);
                CHECK(read->text() == target.text());
                CHECK(target.path_text().find_first_of(":+/ ") == std::string::npos);
                paths.insert(target.path_text());
                ++targets;
            }
        }
    }
    CHECK(targets == 147);          // 36 without features, 13 with xnack (3 each), 8 with both (9 each)
    CHECK(paths.size() == targets); // no two targets share a directory
}

TEST_CASE("features are read in any order and printed in alphabetical order", "[target]") {
    CHECK(canonical("gfx90a:xnack-:sramecc+") == "gfx90a:sramecc+:xnack-");
    CHECK(canonical("gfx90a:sramecc+:xnack-") == "gfx90a:sramecc+:xnack-");
    CHECK(canonical("gfx942:xnack-") == "gfx942:xnack-");
    CHECK(canonical("gfx9-4-generic:xnack+") == "gfx9-4-generic:xnack+");
    CHECK(parse_target("gfx90a:xnack-:sramecc+")->path_text() == "gfx90a-sramecc_on-xnack_off");
    CHECK(parse_target("gfx90a:xnack+")->path_text() == "gfx90a-xnack_on");
}

TEST_CASE("refusals say what is wrong, where, and what was meant", "[target]") {
    CHECK(refusal("gfx90b") == R"("gfx90b" is not a known target; did you mean gfx90a?)");
    CHECK(refusal("gfx90b:xnack+") == R"("gfx90b" is not a known target; did you mean gfx90a?)");
    CHECK(refusal("gfx942:xnack") == R"("gfx942:xnack": a feature needs + or - behind it (column 8))");
    CHECK(refusal("gfx90a:foo+") == R"("gfx90a:foo+": "foo" is no feature; there are sramecc and xnack (column 8))");
    CHECK(refusal("GFX90A") == R"("GFX90A" is not a known target; names are lower case: gfx90a)");
    CHECK(refusal("") == "a target is missing; it looks like gfx90a or gfx90a:xnack-");
    CHECK(refusal(":xnack+") == refusal(""));
    CHECK(refusal("gfx90a:xnack+:xnack-") == R"("gfx90a:xnack+:xnack-": xnack is given twice (column 15))");
    CHECK(refusal("gfx90a:xnack+:xnack+").find("twice") != std::string::npos);
    CHECK(refusal("gfx1030:xnack+") == R"("gfx1030:xnack+": gfx1030 has no xnack to choose (column 9))");
    CHECK(refusal("gfx90a:") == R"("gfx90a:": a feature is missing behind ':' (column 8))");
    CHECK(refusal("gfx90a::xnack+") == R"("gfx90a::xnack+": a feature is missing behind ':' (column 8))");
    CHECK(refusal("gfx90a:+") == R"("gfx90a:+": "" is no feature; there are sramecc and xnack (column 8))");
    CHECK(refusal("gfx90a:xnack+-").find(R"("xnack+" is no feature)") != std::string::npos);
    CHECK(refusal("gfx90a:XNACK+").find(R"("XNACK" is no feature)") != std::string::npos);
    CHECK(refusal("gfx") == R"("gfx" is not a known target; one looks like gfx90a or gfx942:xnack-)");
    CHECK(refusal("mi250x") == R"("mi250x" is a product, not a target; its target is gfx90a)");
    CHECK(refusal("MI300A") == R"("MI300A" is a product, not a target; its target is gfx942)");
    for (const auto* bad :
         {"gfx000", "gfx90", "gfx9", "native", "all", "gfx99-generic", "gfx90a,gfx942", "gfx90a;gfx942",
          "amdgcn-amd-amdhsa--gfx90a", "gfx90a+xnack", "sm_90", "../gfx90a", "-h", "gfx90a:xnack=1"}) {
        CHECK_FALSE(refusal(bad).empty());
    }
}

TEST_CASE("hostile text is refused by a short line of printable ASCII", "[target]") {
    const std::vector<std::string> hostile = {
        std::string(10000, 'x'),
        std::string(10000, ':'),
        "gfx90a:" + std::string(10000, 'x') + "+",
        std::string(100, '\0'),
        "\xff\xfe\x80 gfx90a",
        "gfx90a\n:xnack+",
        "\x1b[31mgfx90a",
        "gfx90a:\x1b]0;title\x07+",
        std::string(10000, '\x01'),
        "gfx90a" + std::string(1 << 20, '+'),
        "\"; rm -rf / #",
        "%s%s%n",
    };
    for (const std::string& text : hostile) {
        const std::string what = refusal(text);
        CHECK(what.size() < 400);
        CHECK(std::ranges::all_of(what, [](char c) { return c >= ' ' && c <= '~'; }));
    }
    CHECK(refusal("gfx\n") == R"("gfx\x0a" is not a known target; one looks like gfx90a or gfx942:xnack-)");
    CHECK(refusal(std::string(10000, 'x')).find(std::string(40, 'x') + "\"... is not") != std::string::npos);
}

TEST_CASE("the nearest name is the likely one, and only if it is near", "[target]") {
    CHECK(nearest_processor("gfx90b") == "gfx90a");
    CHECK(nearest_processor("gfx943") == "gfx942");
    CHECK(nearest_processor("gfx90aa") == "gfx90a");
    CHECK(nearest_processor("gxf90a") == "gfx90a");
    CHECK(nearest_processor("GFX943") == "gfx942");
    CHECK(nearest_processor("gfx9-generi") == "gfx9-generic");
    CHECK(nearest_processor("gfx9_4_generic") == "gfx9-4-generic");
    CHECK(nearest_processor("gfx99-generic") == "gfx9-generic");
    CHECK(nearest_processor("polaris12") == "polaris11");
    CHECK(nearest_processor("vrede") == "verde");
    CHECK_FALSE(nearest_processor(""));
    CHECK_FALSE(nearest_processor("gfx"));
    CHECK_FALSE(nearest_processor("x"));
    CHECK_FALSE(nearest_processor("nvidia"));
    CHECK_FALSE(nearest_processor(std::string(10000, 'g')));
    for (const processor& one : known_processors()) {
        CHECK(nearest_processor(one.name) == one.name);
        CHECK(nearest_processor(std::string(one.name) + "q").has_value());
    }
}

TEST_CASE("generic targets cover what LLVM says, and nothing else covers anything", "[target]") {
    CHECK(covered_by("gfx9-generic").size() == 6);
    CHECK(covered_by("gfx9-4-generic").size() == 4);
    CHECK(covered_by("gfx10-1-generic").size() == 4);
    CHECK(covered_by("gfx10-3-generic").size() == 7);
    CHECK(covered_by("gfx11-generic").size() == 8);
    CHECK(covered_by("gfx12-generic").size() == 2);
    for (const auto* none : {"", "gfx90a", "gfx99-generic", "gfx9", "generic", "generic-hsa"}) {
        CHECK(covered_by(none).empty());
    }
    for (const processor& one : known_processors()) {
        CHECK(covered_by(one.name).empty() == !one.generic);
        for (const std::string_view covered : covered_by(one.name)) {
            REQUIRE(find_processor(covered) != nullptr);
            CHECK_FALSE(find_processor(covered)->generic);
            CHECK(covered != "gfx908");
            CHECK(covered != "gfx90a");
        }
    }
}

TEST_CASE("KFD's target version names the processor", "[target][case:ARCH-6][case:ARCH-8]") {
    const std::vector<std::pair<uint32_t, std::string>> known = {
        {70000, "gfx700"},   {80003, "gfx803"},   {90000, "gfx900"},   {90006, "gfx906"},   {90008, "gfx908"},
        {90010, "gfx90a"},   {90012, "gfx90c"},   {90400, "gfx940"},   {90402, "gfx942"},   {90500, "gfx950"},
        {100100, "gfx1010"}, {100300, "gfx1030"}, {100306, "gfx1036"}, {110000, "gfx1100"}, {110501, "gfx1151"},
        {120001, "gfx1201"}, {120500, "gfx1250"},
    };
    for (const auto& [version, name] : known) {
        CHECK(processor_from_kfd(version) == name);
    }
    // One that no compiler knew when the table was made is a fact all the same.
    CHECK(processor_from_kfd(130100) == "gfx1310");
    for (const uint32_t nonsense : {0U, 1U, 1000U, 10000U, 69999U, 90016U, 90099U, 91600U, 1000000U, 4294967295U}) {
        CHECK_FALSE(processor_from_kfd(nonsense));
    }
}

TEST_CASE("quoting cuts and escapes", "[target]") {
    CHECK(quoted("gfx90a") == R"("gfx90a")");
    CHECK(quoted("") == R"("")");
    CHECK(quoted("a\"b\\c") == R"("a\"b\\c")");
    CHECK(quoted("\x7f\xc3\xa4") == R"("\x7f\xc3\xa4")");
    CHECK(quoted(std::string(40, 'a')) == "\"" + std::string(40, 'a') + "\"");
    CHECK(quoted(std::string(41, 'a')) == "\"" + std::string(40, 'a') + "\"...");
}
