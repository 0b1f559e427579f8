// Doctor's checks with facts that are right, wrong and unknown.
#include "doctor/checks.hpp"

#include <catch2/catch.hpp>
#include <cerrno>

using namespace amd_gpu;
using state = step::state;

namespace {

/// A node with GPUs that are all driven and that KFD knows.
node node_with(uint32_t gpus) {
    node here;
    here.versions["kernel"] = "6.1.0-amd";
    here.sources = {gpus, gpus, gpus};
    for (uint32_t i = 0; i < gpus; ++i) {
        gcd one;
        one.index = i;
        one.bdf.bus = 0xc1 + i;
        one.bound = true;
        here.gcds.push_back(one);
    }
    return here;
}

std::vector<state> states_of(const std::vector<step>& steps) {
    std::vector<state> all;
    for (const step& one : steps)
        all.push_back(one.found);
    return all;
}

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("a node whose GPUs all have their driver is right", "[doctor]") {
    CHECK(states_of(check_driver(node_with(8))) == std::vector{state::ok, state::ok, state::ok});
}

TEST_CASE("a host without GPUs has nothing wrong", "[doctor][case:INIT-3]") {
    CHECK(states_of(check_driver(node_with(0))) == std::vector{state::ok, state::skipped, state::skipped});
    node unreadable = node_with(0);
    unreadable.sources.pci.reset();
    CHECK(states_of(check_driver(unreadable)) == std::vector{state::unknown, state::skipped, state::skipped});
}

TEST_CASE("a driver that is not loaded is one reason, with the kernel's name", "[doctor][case:MISS-4]") {
    node here = node_with(8);
    here.sources.kfd.reset();
    for (gcd& one : here.gcds)
        one.bound = false;
    const auto steps = check_driver(here);
    REQUIRE(states_of(steps) == std::vector{state::ok, state::wrong, state::skipped});
    CHECK(says(steps[1].text, "6.1.0-amd"));
    CHECK(says(steps[1].remedy, "modprobe amdgpu"));
}

TEST_CASE("a GCD without its driver is named", "[doctor][case:MISS-1]") {
    node here = node_with(4);
    here.gcds[2].bound = false;
    here.sources.kfd = 3;
    const auto steps = check_driver(here);
    REQUIRE(states_of(steps) == std::vector{state::ok, state::wrong, state::wrong});
    CHECK(says(steps[1].text, "0000:c3:00.0"));
    here.sources.kfd.reset();
    CHECK(check_driver(here)[2].found == state::unknown);
    // A driver that is loaded and refuses them all is another fault than one that is not there.
    for (gcd& one : here.gcds)
        one.bound = false;
    here.versions["driver"] = "in-tree";
    CHECK(says(check_driver(here)[1].text, "does not drive 0000:c1:00.0, "));
}

TEST_CASE("the fence, the mode bits, a missing file and a refusing driver are told apart", "[doctor][case:VIS-11]") {
    const auto fenced = check_rights({{"/dev/kfd", EPERM, 0666, "root:render"}}, true);
    CHECK(fenced.found == state::wrong);
    CHECK(says(fenced.remedy, "no GPU is allocated to this step"));
    CHECK_FALSE(says(check_rights({{"/dev/kfd", EPERM, 0666, "root:render"}}, false).remedy, "step"));

    const auto closed = check_rights({{"/dev/kfd", EACCES, 0660, "root:render"}}, true);
    CHECK(closed.found == state::wrong);
    CHECK(says(closed.text, "/dev/kfd: mode 0660, root:render"));
    CHECK(says(closed.remedy, "group"));

    const auto missing = check_rights({{"/dev/kfd", ENOENT, {}, ""}}, true);
    CHECK(missing.found == state::wrong);
    CHECK(says(missing.text, "does not exist"));

    for (const int number : {ENXIO, EIO}) {
        const auto refused = check_rights(
            {{"/dev/kfd", 0, 0666, "root:render"}, {"/dev/dri/renderD128", number, 0666, "root:render"}}, true);
        CHECK(refused.found == state::wrong);
        CHECK(says(refused.remedy, "kernel log"));
    }
    CHECK(check_rights({}, true).found == state::unknown);
    CHECK(check_rights({{"/dev/kfd", 0, 0666, "root:render"}}, true).found == state::unknown);
}

TEST_CASE("a job's GPUs are those that it can open", "[doctor][case:VIS-10]") {
    const auto found = check_rights({{"/dev/kfd", 0, 0666, "root:render"},
                                     {"/dev/dri/renderD128", EPERM, 0666, "root:render"},
                                     {"/dev/dri/renderD129", 0, 0666, "root:render"}},
                                    true);
    CHECK(found.found == state::ok);
    CHECK(says(found.text, "1 GPUs can be opened: renderD129"));
    const auto none =
        check_rights({{"/dev/kfd", 0, 0666, "root:render"}, {"/dev/dri/renderD128", EPERM, 0666, "root:render"}}, true);
    CHECK(none.found == state::wrong);
    const auto broken = check_rights({{"/dev/kfd", 0, 0666, "root:render"},
                                      {"/dev/dri/renderD128", EPERM, 0666, "root:render"},
                                      {"/dev/dri/renderD129", 0, 0666, "root:render"},
                                      {"/dev/dri/renderD130", EIO, 0666, "root:render"}},
                                     true);
    CHECK(broken.found == state::wrong);
    CHECK(says(broken.text, "renderD130"));
}

TEST_CASE("an SMI library that is not there is told with where it was looked for", "[doctor][case:INIT-6]") {
    node here = node_with(8);
    const smi_view loaded{"librocm_smi64.so.1", "5.0.0", {}};
    const auto right = check_smi(here, loaded);
    CHECK(right.found == state::ok);
    CHECK(right.text == "SMI 5.0.0 (librocm_smi64.so.1) sees 8 GPUs");
    here.sources.smi = 7;
    CHECK(check_smi(here, loaded).found == state::warning);
    here.sources.smi.reset();
    const auto absent = check_smi(here, error{error_code::not_found, "rocm_smi cannot be loaded: librocm_smi64.so.7"});
    CHECK(absent.found == state::warning);
    CHECK(says(absent.text, "librocm_smi64.so.7"));
    CHECK(check_smi(here, error{error_code::timed_out, "rocm_smi hangs"}).found == state::unknown);
}

TEST_CASE("only root knows that the daemon does not answer", "[doctor]") {
    CHECK(check_agent(true, false).found == state::ok);
    CHECK(check_agent(false, true).found == state::wrong);
    CHECK(check_agent(std::nullopt, true).found == state::ok);
    CHECK(check_agent(std::nullopt, false).found == state::unknown);
}
