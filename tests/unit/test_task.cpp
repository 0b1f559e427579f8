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

TEST_CASE("tasks share the GCDs in contiguous parts that cover each GCD once", "[task]") {
    for (uint32_t count : {1U, 2U, 3U, 8U, 64U})
        for (uint32_t tasks = 1; tasks <= count; ++tasks) {
            std::vector<uint32_t> seen;
            for (uint32_t id = 0; id < tasks; ++id)
                for (const uint32_t index : indices(share_of(gcds(count), {id, tasks})))
                    seen.push_back(index);
            CAPTURE(count, tasks);
            CHECK(seen == indices(gcds(count)));
        }
}

TEST_CASE("with more tasks than GCDs each task has one and each GCD its fair number of tasks", "[task]") {
    std::vector<int> tasks_of(3, 0);
    for (uint32_t id = 0; id < 8; ++id) {
        const auto mine = share_of(gcds(3), {id, 8});
        REQUIRE(mine.size() == 1);
        ++tasks_of[mine[0].index];
    }
    for (const int count : tasks_of)
        CHECK((count == 2 || count == 3));
}

TEST_CASE("impossible places and no GCDs do not crash", "[task]") {
    CHECK(share_of({}, {0, 1}).empty());
    CHECK(share_of(gcds(2), {5, 2}).size() == 2);
    CHECK(share_of(gcds(2), {0, 0}).size() == 2);
}

TEST_CASE("masks use unique ids, and positions among what the runtime lists where an id is unknown",
          "[task][case:VIS-3][case:MIX-3][case:RSMI-1]") {
    const auto all = gcds(4);
    CHECK(rocr_mask({all[2]}, all) == "GPU-0000000000000002");
    const auto without = gcds(4, false);
    CHECK(rocr_mask({without[2], without[3]}, without) == "2,3");
    CHECK(rocr_mask({without[3]}, {without[2], without[3]}) == "1");
    CHECK_FALSE(rocr_mask({without[0]}, {without[2], without[3]}));
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
