// Real children: fast, slow, deaf, chatty, with children of their own.
#include "system/files.hpp"
#include "system/process.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

using namespace amd_gpu;
using namespace std::chrono_literals;

namespace {

command shell(const std::string& script) {
    return {{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, std::nullopt, 4U << 20};
}

double seconds_of(const std::function<void()>& what) {
    const auto start = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool alive(const std::string& pid) {
    const auto stat = read_file("/proc/" + pid + "/stat");
    return stat && stat->find(") Z") == std::string::npos;
}

} // namespace

TEST_CASE("a child's output, errors and status are told apart", "[process]") {
    const auto ended = run(shell("echo out; echo err >&2; exit 3"), deadline::in(5s));
    REQUIRE(ended);
    CHECK(ended->how == child_result::ending::exited);
    CHECK(ended->code == 3);
    CHECK(ended->output == "out\n");
    CHECK(ended->diagnostics == "err\n");
    CHECK_FALSE(ended->succeeded());
    CHECK(ended->text() == "exited with status 3");
}

TEST_CASE("a child sees the environment that it was given and nothing else", "[process]") {
    ::setenv("AMD_GPU_TEST_LEAK", "1", 1);
    command what{{"/usr/bin/env"}, {"A=1", "B=x y"}, std::nullopt, 4U << 20};
    const auto ended = run(what, deadline::in(5s));
    REQUIRE(ended);
    CHECK(ended->output == "A=1\nB=x y\n");
}

TEST_CASE("a child inherits no descriptor of ours", "[process]") {
    const auto ended = run(shell("ls /proc/self/fd | sort -n | tr '\\n' ' '"), deadline::in(5s));
    REQUIRE(ended);
    // 0, 1, 2 and the one with which ls reads the directory.
    CHECK(ended->output == "0 1 2 3 ");
}

TEST_CASE("a program that is not there is an error with its name", "[process]") {
    const auto ended = run({{"/no/such/program"}, {}, std::nullopt, 100}, deadline::in(5s));
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code == error_code::not_found);
    CHECK(ended.failure().what.find("/no/such/program") != std::string::npos);
    const auto directory = run({{"/tmp"}, {}, std::nullopt, 100}, deadline::in(5s));
    REQUIRE_FALSE(directory);
    CHECK(directory.failure().code == error_code::permission);
}

TEST_CASE("a child that sleeps is stopped at its deadline", "[process]") {
    result<child_result> ended = error{};
    const double took = seconds_of([&] { ended = run(shell("echo begun; sleep 60"), deadline::in(200ms)); });
    REQUIRE(ended);
    CHECK(ended->how == child_result::ending::timed_out);
    CHECK(ended->output == "begun\n");
    CHECK(took < 5);
}

TEST_CASE("a child that ignores TERM is killed, and what it started with it", "[process]") {
    result<child_result> ended = error{};
    const double took = seconds_of([&] {
        ended = run(shell("trap '' TERM; sleep 61 & echo $!; while :; do sleep 1; done"), deadline::in(300ms));
    });
    REQUIRE(ended);
    CHECK(ended->how == child_result::ending::timed_out);
    CHECK(took < 6);
    const std::string grandchild(trimmed(ended->output));
    REQUIRE_FALSE(grandchild.empty());
    for (int i = 0; i < 100 && alive(grandchild); ++i)
        std::this_thread::sleep_for(20ms);
    CHECK_FALSE(alive(grandchild));
}

TEST_CASE("a grandchild that holds the pipes does not hold us", "[process]") {
    result<child_result> ended = error{};
    const double took = seconds_of([&] { ended = run(shell("sleep 30 & echo done"), deadline::in(20s)); });
    REQUIRE(ended);
    CHECK(ended->succeeded());
    CHECK(ended->output == "done\n");
    CHECK(took < 5);
}

TEST_CASE("death by a signal is named", "[process]") {
    const auto ended = run(shell("kill -SEGV $$"), deadline::in(5s));
    REQUIRE(ended);
    CHECK(ended->how == child_result::ending::signalled);
    CHECK(ended->code == SIGSEGV);
    CHECK(ended->text().find("signal 11") != std::string::npos);
}

TEST_CASE("endless output is read and dropped beyond the limit", "[process]") {
    auto what =
        shell("i=0; while [ $i -lt 20000 ]; do echo 0123456789012345678901234567890123456789; i=$((i+1)); done");
    what.output_limit = 1000;
    const auto ended = run(what, deadline::in(20s));
    REQUIRE(ended);
    CHECK(ended->succeeded());
    CHECK(ended->output.size() == 1000);
}

TEST_CASE("lines are handed over whole, the last without its end too", "[process]") {
    std::vector<std::string> lines;
    const auto ended = run(shell("printf 'a\\nbb\\n'; sleep 0.1; printf 'c'; sleep 0.1; printf 'c\\nlast'"),
                           deadline::in(5s), [&](std::string_view line) { lines.emplace_back(line); });
    REQUIRE(ended);
    CHECK(lines == std::vector<std::string>{"a", "bb", "cc", "last"});
}

TEST_CASE("a child runs as another user with just that user's groups", "[process]") {
    if (::geteuid() != 0) {
        WARN("needs root");
        return;
    }
    const auto nobody = identity_of("nobody");
    REQUIRE(nobody);
    auto what = shell("id -u; id -g; id -G");
    what.as = *nobody;
    const auto ended = run(what, deadline::in(5s));
    REQUIRE(ended);
    CHECK(ended->output == "65534\n65534\n65534\n");
}

TEST_CASE("an unknown user is an error with the name", "[process]") {
    const auto who = identity_of("no-such-user-here");
    REQUIRE_FALSE(who);
    CHECK(who.failure().what.find("no-such-user-here") != std::string::npos);
}

TEST_CASE("many children at once from many threads", "[process]") {
    std::atomic<int> good = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&, i] {
                for (int round = 0; round < 5; ++round) {
                    const auto ended = run(shell("echo " + std::to_string(i)), deadline::in(20s));
                    if (ended && ended->output == std::to_string(i) + "\n")
                        ++good;
                }
            });
    }
    CHECK(good == 40);
    CHECK(abandoned_children().empty());
}
