#include "doctor/environment_checks.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using state = step::state;

namespace {

const std::vector<target_id> mi250x{*parse_target("gfx90a:sramecc+")};

variant_candidate profile(const std::string& target, const std::string& unusable = "") {
    variant_candidate one;
    one.found.provider = "guix";
    one.found.kept = storage::store;
    one.found.path = "/gnu/store/x-profile";
    one.found.targets = {*parse_target(target)};
    one.unusable = unusable;
    return one;
}

environment guix_environment() {
    environment of;
    of.name = "hpl";
    of.provider = "guix";
    return of;
}

} // namespace

TEST_CASE("doctor says which variant of each environment this node would use", "[doctor]") {
    const auto answer = check_environment(guix_environment(), std::vector{profile("gfx90a")}, mi250x, false);
    CHECK(answer.found == state::ok);
    CHECK_THAT(answer.text, Contains("hpl: gfx90a:sramecc+ <- variant gfx90a"));
}

// Three ways make software visible: a shared store, a prefix, a mounted image; doctor says which of them fails here.
TEST_CASE("a store that is not mounted on this node is told with what to do", "[doctor][case:SCALE-8]") {
    const auto answer = check_environment(
        guix_environment(), std::vector{profile("gfx90a", "/gnu/store/x-profile is gone")}, mi250x, false);
    CHECK(answer.found == state::warning);
    CHECK_THAT(answer.text, Contains("/gnu/store/x-profile is gone"));
    CHECK_THAT(answer.remedy, Contains("mount it here"));
}

TEST_CASE("a kernel without squashfs is told of", "[doctor][case:SCALE-8]") {
    CHECK(check_images("nodev\tproc\n\tsquashfs\n", "").found == state::ok);
    CHECK(check_images("nodev\tproc\n", "kernel/fs/squashfs/squashfs.ko.xz: kernel/x.ko\n").found == state::ok);
    CHECK(check_images("nodev\tproc\n", "kernel/fs/ext4/ext4.ko:\n").found == state::warning);
    CHECK(check_images("nodev\tproc\n", "").found == state::unknown);
}

TEST_CASE("an environment for other nodes is no trouble, unless it is the default", "[doctor]") {
    const std::vector<variant_candidate> others{profile("gfx942")};
    CHECK(check_environment(guix_environment(), others, mi250x, false).found == state::skipped);
    const auto by_default = check_environment(guix_environment(), others, mi250x, true);
    CHECK(by_default.found == state::warning);
    CHECK_THAT(by_default.remedy, Contains("default environment"));
}

TEST_CASE("an index that cannot be read is wrong", "[doctor]") {
    const auto answer = check_environment(
        guix_environment(), error{error_code::configuration, "the index /x: no directory"}, mi250x, false);
    CHECK(answer.found == state::wrong);
    CHECK_THAT(answer.text, Contains("the index /x"));
}
