// What one user may have of what all share.
#include "service/log_budget.hpp"
#include "service/slots.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

using namespace amd_gpu;
using namespace std::chrono_literals;

TEST_CASE("one user's slots do not take another's", "[bounds]") {
    slots two(2);
    const auto now = deadline::in(0ms);
    auto first = two.take(1000, now);
    auto second = two.take(1000, now);
    CHECK(first);
    CHECK(second);
    CHECK_FALSE(two.take(1000, now));
    CHECK(two.take(1001, now));
    first.reset();
    CHECK(two.take(1000, now));
}

TEST_CASE("whoever waits for a slot gets the one that becomes free", "[bounds]") {
    slots one(1);
    auto first = one.take(1000, deadline::in(0ms));
    REQUIRE(first);
    auto giver = std::async(std::launch::async, [&] {
        std::this_thread::sleep_for(20ms);
        first.reset();
    });
    CHECK(one.take(1000, deadline::in(10s)));
    giver.get();
}

TEST_CASE("one user's lines in the log are bounded in each minute", "[bounds]") {
    using answer = log_budget::answer;
    log_budget log(3);
    const auto start = std::chrono::steady_clock::time_point{} + 1h;
    CHECK(log.line(1000, start) == answer::write);
    CHECK(log.line(1000, start + 1s) == answer::write);
    CHECK(log.line(1000, start + 2s) == answer::last);
    CHECK(log.line(1000, start + 3s) == answer::drop);
    CHECK(log.line(1001, start + 3s) == answer::write);
    CHECK(log.line(1000, start + 59s) == answer::drop);
    CHECK(log.line(1000, start + 60s) == answer::write);
}
