// What the daemon is built of: values computed once, things done later, and a socket that survives what is thrown at
// it.
#include "health/slurm.hpp"
#include "service/client.hpp"
#include "service/exchange.hpp"
#include "service/later.hpp"
#include "service/server.hpp"
#include "service/single_flight.hpp"
#include "temporary_directory.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <new>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>

using namespace amd_gpu;
using namespace std::chrono_literals;

namespace {

/// A daemon in a process of its own, stopped at the end of the test.
struct daemon_process {
    explicit daemon_process(const std::string& path)
        : socket(path) {
        pid = ::fork();
        REQUIRE(pid >= 0);
        if (pid == 0) {
            const settings site;
            const auto listening = listen_at(path);
            if (!listening)
                ::_exit(2);
            const ending_signals signals;
            preparations jobs(site);
            const auto served = serve(*listening, signals, jobs);
            ::_exit(served && *served ? 0 : 3);
        }
        for (int i = 0; i < 500 && !ask(path, message("status"), deadline::in(1s)); ++i)
            std::this_thread::sleep_for(10ms);
    }
    ~daemon_process() {
        if (pid > 0)
            stop(SIGKILL);
    }
    int stop(int number) {
        ::kill(pid, number);
        int status = 0;
        ::waitpid(std::exchange(pid, -1), &status, 0);
        return status;
    }
    std::string socket;
    pid_t pid = -1;
};

unique_fd connected(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return socket;
}

} // namespace

TEST_CASE("a value asked for by many at once is computed once", "[single_flight]") {
    single_flight<int> values;
    std::atomic<int> computed = 0;
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 16; ++i)
            threads.emplace_back([&] {
                const auto value = values.get("key", "state", [&]() -> result<int> {
                    std::this_thread::sleep_for(50ms);
                    return ++computed;
                });
                if (value && **value == 1)
                    ++right;
            });
    }
    CHECK(computed == 1);
    CHECK(right == 16);
    CHECK(values.flights() == 1);
}

TEST_CASE("a value is computed anew when what it was made from has changed, and for every key", "[single_flight]") {
    single_flight<int> values;
    int computed = 0;
    const auto count = [&]() -> result<int> { return ++computed; };
    CHECK(**values.get("a", "1", count) == 1);
    CHECK(**values.get("a", "1", count) == 1);
    CHECK(**values.get("a", "2", count) == 2);
    CHECK(**values.get("b", "2", count) == 3);
    CHECK(**values.get("a", "2", count) == 2);
}

TEST_CASE("a failure reaches all who waited for it and is tried again by the next", "[single_flight]") {
    single_flight<int> values;
    std::atomic<int> tries = 0;
    std::atomic<int> failed = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&] {
                const auto value = values.get("key", "state", [&]() -> result<int> {
                    ++tries;
                    std::this_thread::sleep_for(100ms);
                    return error{error_code::timed_out, "too slow"};
                });
                if (!value && value.failure().what == "too slow")
                    ++failed;
            });
    }
    CHECK(failed == 8);
    CHECK(tries < 8);
    CHECK(values.get("key", "state", []() -> result<int> { return 5; }));
}

TEST_CASE("an exception in the middle is a failure for all and leaves nobody waiting", "[single_flight]") {
    single_flight<int> values;
    const auto value = values.get("key", "state", []() -> result<int> { throw std::bad_alloc(); });
    REQUIRE_FALSE(value);
    CHECK(values.get("key", "state", []() -> result<int> { return 1; }));
}

TEST_CASE("things are done later, in the order of their times, and dropped at the end", "[later]") {
    std::mutex lock;
    std::string order;
    {
        later things;
        const auto add = [&](char letter) {
            return [&, letter] {
                const std::lock_guard hold(lock);
                order += letter;
            };
        };
        things.after(150ms, add('c'));
        things.after(10ms, add('a'));
        things.after(70ms, add('b'));
        things.after(60s, add('x'));
        for (int i = 0; i < 300; ++i) {
            std::this_thread::sleep_for(10ms);
            const std::lock_guard hold(lock);
            if (order.size() == 3)
                break;
        }
    }
    CHECK(order == "abc");
}

TEST_CASE("fields of scontrol's one-line output are found, also with spaces in them", "[slurm]") {
    const std::string line = "NodeName=n0 Arch=x86_64 CPUAlloc=0 State=IDLE+DRAIN ThreadsPerCore=2 Gres=gpu:8(S:0) "
                             "Reason=amd-gpu: 0000:c9:00.0 hbm_copy 695<1147 GB/s [root@2026-11-30T08:00:00]\n";
    CHECK(scontrol_field(line, "State") == "IDLE+DRAIN");
    CHECK(scontrol_field(line, "NodeName") == "n0");
    CHECK(scontrol_field(line, "Reason") == "amd-gpu: 0000:c9:00.0 hbm_copy 695<1147 GB/s [root@2026-11-30T08:00:00]");
    CHECK_FALSE(scontrol_field(line, "Name"));
    CHECK_FALSE(scontrol_field("", "State"));
    CHECK(scontrol_field("JobId=3 BatchFlag=1 Comment=a=b c", "Comment") == "a=b c");
}

TEST_CASE("a job is looked up by its own line, and named so that an array's other tasks are left alone", "[slurm]") {
    const std::string array = "JobId=1 ArrayJobId=1 ArrayTaskId=1 JobName=x Restarts=0 BatchFlag=1 Comment=a\n"
                              "JobId=2 ArrayJobId=1 ArrayTaskId=0 JobName=x Restarts=0 BatchFlag=1\n";
    CHECK(job_record_in(array, 1)->name == "1_1");
    CHECK(job_record_in(array, 2)->name == "1_0");
    CHECK(job_record_in(array, 1)->batch);
    CHECK_FALSE(job_record_in(array, 3));
    CHECK(job_record_in("JobId=1 ArrayJobId=1 ArrayTaskId=2-5 BatchFlag=1\n", 1)->name == "1");
    const auto component = job_record_in("JobId=4 HetJobId=3 HetJobOffset=1 BatchFlag=0\n", 4);
    CHECK(component->name == "4");
    CHECK(component->leader == "3");
    const auto plain = job_record_in("JobId=7 JobName=JobId=8 BatchFlag=0\n", 7);
    REQUIRE(plain);
    CHECK(plain->leader == "7");
    CHECK_FALSE(plain->batch);
    CHECK_FALSE(job_record_in("", 7));
}

TEST_CASE("the daemon answers, refuses what it does not know, and ends on SIGTERM", "[server]") {
    const temporary_directory at;
    daemon_process daemon(at.path() + "/agent.sock");
    struct stat found{};
    REQUIRE(::stat(daemon.socket.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);

    const auto status = ask(daemon.socket, message("status"), deadline::in(5s));
    REQUIRE(status);
    CHECK(status->text("json").find("\"discoveries\"") != std::string_view::npos);
    const auto unknown = ask(daemon.socket, message("explode"), deadline::in(5s));
    REQUIRE(unknown);
    CHECK(unknown->text("kind") == "refused");
    const auto incomplete = ask(daemon.socket, message("prepare"), deadline::in(5s));
    REQUIRE(incomplete);
    CHECK(incomplete->text("kind") == "refused");

    const int ended = daemon.stop(SIGTERM);
    CHECK(WIFEXITED(ended));
    CHECK(WEXITSTATUS(ended) == 0);
    const auto gone = ask(daemon.socket, message("status"), deadline::in(5s));
    REQUIRE_FALSE(gone);
    CHECK(gone.failure().code == error_code::not_found);
}

TEST_CASE("hostile connections harm nobody else", "[server]") {
    const temporary_directory at;
    const daemon_process daemon(at.path() + "/agent.sock");
    std::vector<unique_fd> silent;
    for (int i = 0; i < 50; ++i)
        silent.push_back(connected(daemon.socket));
    for (const std::string& bytes : {std::string("\xff\xff\xff\xff garbage", 12),
                                     std::string("\x05\x00\x00\x00"
                                                 "abcde",
                                                 9),
                                     std::string("\x01", 1),
                                     std::string("\x08\x00\x00\x00"
                                                 "kind=\0\0\0",
                                                 12),
                                     std::string(100000, 'x')}) {
        const auto socket = connected(daemon.socket);
        CHECK(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0);
    }
    CHECK(ask(daemon.socket, message("status"), deadline::in(5s)));
}

TEST_CASE("a second daemon does not take the socket of a living one, and a dead one's is replaced", "[server]") {
    const temporary_directory at;
    const std::string path = at.path() + "/agent.sock";
    {
        daemon_process first(path);
        const auto second = listen_at(path);
        REQUIRE_FALSE(second);
        CHECK(second.failure().what.find("another agent") != std::string::npos);
        first.stop(SIGKILL);
    }
    struct stat found{};
    CHECK(::stat(path.c_str(), &found) == 0); // left behind by the kill
    CHECK(listen_at(path));
}

TEST_CASE("an agent that dies in the middle, or never speaks, is an error and not a hang", "[client]") {
    const temporary_directory at;
    const std::string path = at.path() + "/agent.sock";
    const auto listening = listen_at(path);
    REQUIRE(listening);
    SECTION("dies") {
        std::jthread dying([&] {
            std::this_thread::sleep_for(50ms);
            const unique_fd peer(::accept(listening->socket.get(), nullptr, nullptr));
            for (int i = 0; i < 100 && !peer; ++i)
                std::this_thread::sleep_for(10ms);
        });
        const auto reply = ask(path, message("status"), deadline::in(5s));
        REQUIRE_FALSE(reply);
        CHECK(reply.failure().code == error_code::peer);
    }
    SECTION("never speaks") {
        const auto reply = ask(path, message("status"), deadline::in(300ms));
        REQUIRE_FALSE(reply);
        CHECK(reply.failure().code == error_code::timed_out);
    }
    SECTION("is not there") {
        const auto reply = ask(at.path() + "/other.sock", message("status"), deadline::in(5s));
        REQUIRE_FALSE(reply);
        CHECK(reply.failure().code == error_code::not_found);
    }
    SECTION("has a path longer than a socket's may be") {
        CHECK_FALSE(ask(std::string(200, '/'), message("status"), deadline::in(5s)));
    }
}

TEST_CASE("a socket that systemd made is left where systemd listens, our own goes with us", "[server]") {
    const temporary_directory at;
    const std::string path = at.path() + "/agent.sock";
    auto made = listen_at(path);
    REQUIRE(made);
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        // As systemd starts a service: the socket is descriptor 3, and two variables say so.
        ::dup2(made->socket.get(), 3);
        ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
        ::setenv("LISTEN_FDS", "1", 1);
        const auto inherited = listen_at("/no/such/directory/agent.sock");
        ::_exit(inherited && inherited->own_path.empty() ? 0 : 1);
    }
    int ended = 0;
    ::waitpid(pid, &ended, 0);
    CHECK(ended == 0);
    struct stat found{};
    CHECK(::stat(path.c_str(), &found) == 0);
    {
        const listener ours = std::move(*made);
    }
    CHECK(::stat(path.c_str(), &found) != 0);
}
