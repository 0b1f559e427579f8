// tests/fakes/http-server for one test: started with a directory to serve, ended with the test.
#pragma once

#include "system/deadline.hpp"
#include "system/files.hpp"
#include "temporary_directory.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace amd_gpu {

class http_server {
  public:
    http_server() {
        const std::string served = directory_.make("served");
        const std::string port_file = directory_.path() + "/port";
        child_ = ::fork();
        if (child_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::execl("tests/fakes/http-server", "http-server", served.c_str(), port_file.c_str(), log_file().c_str(),
                    nullptr);
            ::_exit(127);
        }
        const auto until = deadline::in(std::chrono::seconds(20));
        while (!until.passed() && !(port_ = read_line(port_file)))
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        INFO("tests run in the root of the source tree, where tests/fakes/http-server is");
        REQUIRE(port_);
    }
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;
    ~http_server() {
        ::kill(child_, SIGKILL);
        ::waitpid(child_, nullptr, 0);
    }

    void serve(const std::string& name, const std::string& content) const {
        directory_.write("served/" + name, content);
    }
    /// "http://127.0.0.1:PORT/PATH".
    [[nodiscard]] std::string url(const std::string& path) const { return origin() + "/" + path; }
    [[nodiscard]] std::string origin() const { return "http://127.0.0.1:" + *port_; }
    /// A line for each request that has been answered.
    [[nodiscard]] std::string log() const { return read_file(log_file()) ? *read_file(log_file()) : ""; }
    /// How many requests have been answered. Answers that were broken off are noted a little later: it waits until
    /// there are that many, but not for ever.
    [[nodiscard]] std::size_t requests(std::size_t expected) const {
        const auto until = deadline::in(std::chrono::seconds(5));
        for (;;) {
            const std::string text = log();
            const auto count = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
            if (count >= expected || until.passed())
                return count;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
    [[nodiscard]] const temporary_directory& directory() const { return directory_; }

  private:
    [[nodiscard]] std::string log_file() const { return directory_.path() + "/log"; }

    temporary_directory directory_;
    std::optional<std::string> port_;
    pid_t child_ = -1;
};

} // namespace amd_gpu
