// Which GCDs a task gets and what it is told of them.
#include "spank/plugin_settings.hpp"
#include "spank/task.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

std::vector<granted_gcd> gcds(uint32_t count, bool with_ids = true) {
    std::vector<granted_gcd> list;
    for (uint32_t i = 0; i < count; ++i)
        list.push_back({i,
                        i,
                        "0000:0" + std::to_string(i) + ":00.0",
                        with_ids ? "000000000000000" + std::to_string(i) : "",
                        128 + i,
                        "gfx90a:sramecc+",
                        {},
                        {},
                        {}});
    return list;
}

std::vector<uint32_t> indices(const std::vector<granted_gcd>& list) {
    std::vector<uint32_t> numbers;
    for (const auto& die : list)
        numbers.push_back(die.index);
    return numbers;
}

std::optional<std::string> value(const std::vector<edit>& edits, const std::string& name) {
    for (const auto& change : edits)
        if (change.name == name)
            return change.value;
    return std::nullopt;
}

result<plugin_settings> settings_of(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (auto& word : words)
        pointers.push_back(word.data());
    return parse_plugin_settings(static_cast<int>(pointers.size()), pointers.data());
}

} // namespace

TEST_CASE("all of a job's GCDs are listed so that device N is beside rank N", "[task][case:VIS-2]") {
    const auto all = gcds(4);
    CHECK(indices(job_order(all, {{{2}, {}, ""}, {{3}, {}, ""}, {{0}, {}, ""}, {{1}, {}, ""}})) ==
          std::vector<uint32_t>{2, 3, 0, 1});
    CHECK(indices(job_order(all, {{{2, 3}, {}, ""}, {{0, 1}, {}, ""}})) == std::vector<uint32_t>{2, 0, 3, 1});
    CHECK(indices(job_order(all, {{{1, 2, 3, 0}, {}, ""}})) == std::vector<uint32_t>{1, 2, 3, 0});
    CHECK(indices(job_order(all, {{{1}, {}, ""}, {{1}, {}, ""}})) == std::vector<uint32_t>{1});
    CHECK(job_order(all, {}).empty());
}

TEST_CASE("masks use unique ids, which hold whatever the order", "[task][case:VIS-3][case:VIS-4]") {
    const auto all = gcds(4);
    CHECK(rocr_mask({all[2]}, all, {}) == "GPU-0000000000000002");
    CHECK(rocr_mask({all[2]}, all, {true, true}) == "GPU-0000000000000002");
}

TEST_CASE("where an id is unknown masks are positions in what the runtime will list",
          "[task][case:RSMI-1][case:MIX-4]") {
    auto all = gcds(4, false);
    for (uint32_t i = 0; i < 4; ++i)
        all[i].position = 3 - i; // the runtime's order is the other way round
    CHECK(rocr_mask({all[2], all[3]}, all, {}) == "1,0");
    // The job's own are all that can be opened: positions among them.
    const std::vector<granted_gcd> open{all[0], all[2]};
    CHECK(rocr_mask({all[0]}, open, {false, true}) == "1");
    CHECK(rocr_mask({all[2]}, open, {false, true}) == "0");
    // Everything on the node can be opened: positions among all.
    CHECK(rocr_mask({all[0]}, open, {true, false}) == "3");
    // Something in between cannot be said.
    CHECK_FALSE(rocr_mask({all[0]}, open, {true, true}));
    CHECK_FALSE(rocr_mask({gcds(1, false)[0]}, gcds(1, false), {}));
}

TEST_CASE("layers above ROCR are set anew only where they are set", "[task]") {
    const auto all = gcds(8);
    const auto edits = task_edits({all[6], all[7]}, "GPU-6,GPU-7",
                                  [](const std::string& name) { return name == "CUDA_VISIBLE_DEVICES"; });
    CHECK(value(edits, "ROCR_VISIBLE_DEVICES") == "GPU-6,GPU-7");
    CHECK(value(edits, "CUDA_VISIBLE_DEVICES") == "0,1");
    CHECK_FALSE(value(edits, "HIP_VISIBLE_DEVICES"));
    CHECK(value(edits, "SLURM_AMD_GPU_GCDS") == "6,7");
    const auto unmasked = task_edits({all[6]}, std::nullopt, [](const std::string&) { return true; });
    CHECK_FALSE(value(unmasked, "ROCR_VISIBLE_DEVICES"));
    CHECK_FALSE(value(unmasked, "HIP_VISIBLE_DEVICES"));
    CHECK(value(unmasked, "SLURM_AMD_GPU_BDFS") == "0000:06:00.0");
}

TEST_CASE("words of plugstack.conf are read strictly", "[plugin_settings]") {
    const auto read =
        settings_of({"socket=/run/x.sock", "deadline=30", "on_agent_down=run", "default=auto", "environments=/e"});
    REQUIRE(read);
    CHECK(read->socket == "/run/x.sock");
    CHECK(read->deadline == std::chrono::seconds(30));
    CHECK(read->run_without_agent);
    CHECK(read->on_by_default);
    CHECK(settings_of({}));
    for (const char* bad : {"sockets=/x", "socket=x", "socket", "deadline=0", "deadline=1.5", "deadline=99999",
                            "on_agent_down=maybe", "default=on", "", "="}) {
        CAPTURE(bad);
        const auto refused = settings_of({bad});
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().what.find("plugstack.conf") != std::string::npos);
    }
}
