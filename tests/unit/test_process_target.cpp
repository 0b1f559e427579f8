// The xnack mode of a job's processes: the driver's default, or what HSA_XNACK can choose.
#include "node/process_target.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

gcd die(const char* target, std::optional<bool> xnack, std::optional<bool> selectable) {
    gcd one;
    one.target = *parse_target(target);
    one.xnack = xnack;
    one.xnack_selectable = selectable;
    return one;
}

std::string text(const gcd& of, std::optional<bool> wish) {
    return process_target(of, wish)->text();
}

} // namespace

TEST_CASE("a process runs in the driver's mode unless it may and does choose", "[xnack][case:APU-4]") {
    const auto mi300a = die("gfx942:sramecc+", false, true);
    CHECK(text(mi300a, std::nullopt) == "gfx942:sramecc+:xnack-");
    CHECK(text(mi300a, true) == "gfx942:sramecc+:xnack+");
    CHECK(needed_xnack(mi300a, true) == true);
    CHECK_FALSE(needed_xnack(mi300a, false)); // the default will do
    CHECK_FALSE(needed_xnack(mi300a, std::nullopt));
}

TEST_CASE("a device that cannot switch keeps its mode whatever is asked for", "[xnack][case:ARCH-2]") {
    const auto fixed = die("gfx908:sramecc+", false, false);
    CHECK(text(fixed, true) == "gfx908:sramecc+:xnack-");
    CHECK_FALSE(needed_xnack(fixed, true));
    const auto unknown = die("gfx90a:sramecc+", std::nullopt, std::nullopt);
    CHECK(text(unknown, true) == "gfx90a:sramecc+");
    CHECK_FALSE(process_target(gcd{}, true));
}

TEST_CASE("accepted targets ask for a mode when all of them name the same", "[xnack]") {
    const auto asked = [](std::vector<const char*> names) {
        std::vector<target_id> targets;
        for (const char* name : names)
            targets.push_back(*parse_target(name));
        return asked_xnack(targets);
    };
    CHECK_FALSE(asked({}));
    CHECK_FALSE(asked({"gfx90a"}));
    CHECK(asked({"gfx90a:xnack+"}) == true);
    CHECK(asked({"gfx90a:xnack-", "gfx942:xnack-"}) == false);
    CHECK_FALSE(asked({"gfx90a:xnack-", "gfx942"}));
    CHECK_FALSE(asked({"gfx90a:xnack-", "gfx942:xnack+"}));
}
