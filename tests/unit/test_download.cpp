// Downloads from a web server that misbehaves in every way we know of.
#include "system/download.hpp"

#include "http_server.hpp"
#include "system/fd.hpp"
#include "system/sha256.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <random>

using namespace amd_gpu;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string noise(std::size_t size) {
    std::mt19937 random(1);
    std::string text(size, '\0');
    for (char& c : text)
        c = static_cast<char>(random());
    return text;
}

const std::string content = noise(300'000);

/// A server with the file "x", and a file to download it into.
struct download_test {
    http_server server;
    std::string path = server.directory().path() + "/downloaded";
    std::vector<std::string> said;
    std::vector<std::string> unreachable;
    download_request request;

    download_test() {
        server.serve("x", content);
        request.sha256 = sha256_of(content);
        request.bytes = content.size();
        request.tries = 2;
        request.connect_limit = 2s;
        request.stall_limit = 1s;
    }

    /// Paths on the server, or whole addresses.
    void from(const std::vector<std::string>& places) {
        request.urls.clear();
        for (const std::string& place : places)
            request.urls.push_back(place.find("://") == std::string::npos ? server.url(place) : place);
    }

    status run(std::chrono::milliseconds limit = 30s) {
        const unique_fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        REQUIRE(file);
        download_listener listener;
        listener.say = [this](const std::string& line) { said.push_back(line); };
        listener.unreachable = [this](const std::string& origin) { unreachable.push_back(origin); };
        return download(request, file.get(), deadline::in(limit), listener);
    }

    [[nodiscard]] std::string downloaded() const {
        const auto text = read_file(path);
        return text ? *text : "";
    }
    void already(const std::string& text) const { server.directory().write("downloaded", text); }
};

} // namespace

TEST_CASE("a file is downloaded with one request", "[download]") {
    download_test test;
    test.from({"x"});
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK(test.said.empty());
    // It is there now: nobody is asked again.
    REQUIRE(test.run());
    CHECK(test.server.log() == "GET /x - 200 300000\n");
}

TEST_CASE("what a server does wrong is told in words", "[download]") {
    struct row {
        const char* behaviour;
        error_code code;
        const char* text;
        std::size_t requests; ///< 1: this server is not asked twice
    };
    const row rows[] = {
        {"missing", error_code::not_found, "does not have it", 1},
        {"status=410", error_code::not_found, "does not have it", 1},
        {"status=403", error_code::peer, "answers with HTTP status 403", 1},
        {"status=500", error_code::peer, "answers with HTTP status 500", 2},
        {"status=429", error_code::peer, "answers with HTTP status 429", 2},
        {"wrong", error_code::peer, "gives another content than the index says", 1},
        {"short=1", error_code::peer, "has 299999 bytes instead of 300000", 1},
        {"long=1", error_code::peer, "has 300001 bytes instead of 300000", 1},
        {"endless", error_code::peer, "sends more than the 300000 bytes that it may have", 1},
        {"headers=80", error_code::peer, "sends more than 64 KiB of headers", 1},
        {"headers=2000", error_code::peer, "", 1},
        {"loop", error_code::peer, "redirect", 1},
        {"to=ftp:!!127.0.0.1!x", error_code::peer, "ftp", 1},
        {"to=file:!!!etc!passwd", error_code::peer, "file", 1},
        {"drop", error_code::peer, "Empty reply", 2},
        {"stall=0", error_code::peer, "too slow", 2},
        {"gzip,wrong", error_code::peer, "gives another content than the index says", 1},
    };
    for (const row& one : rows) {
        INFO(one.behaviour);
        download_test test;
        test.from({std::string(one.behaviour) + "/x"});
        const status ended = test.run();
        REQUIRE_FALSE(ended);
        CHECK(ended.failure().code == one.code);
        CHECK_THAT(ended.failure().what, StartsWith(test.server.origin() + ": ") && Contains(one.text));
        CHECK(test.unreachable.empty());
        CHECK(test.said.size() == 1); // once, however often it is asked
        CHECK(test.downloaded().size() <= content.size());
        const bool whole = test.downloaded() == content;
        CHECK((!whole || std::string_view(one.behaviour) == "endless")); // which gives all of it, and more
        if (std::string_view(one.behaviour) == "loop")
            CHECK(test.server.requests(1 + most_redirects) == 1 + most_redirects);
        else if (!std::string_view(one.behaviour).starts_with("stall"))
            CHECK(test.server.requests(one.requests) == one.requests);
    }
}

TEST_CASE("a server that never answers is given up after the stall limit", "[download]") {
    download_test test;
    test.from({"silent/x"});
    test.request.tries = 1;
    const status ended = test.run();
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code == error_code::peer);
    CHECK_THAT(ended.failure().what, Contains("too slow"));
}

TEST_CASE("an interrupted download goes on where it stopped", "[download][case:SCALE-6]") {
    download_test test;
    test.from({"cut=100000,times=2/x"});
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK(test.server.log() == "GET /cut=100000,times=2/x - 200 100000\n"
                               "GET /cut=100000,times=2/x bytes=100000- 206 100000\n"
                               "GET /cut=100000,times=2/x bytes=200000- 206 100000\n");
}

TEST_CASE("cuts do not count as failed tries as long as something comes", "[download][case:SCALE-6]") {
    download_test test;
    test.from({"cut=60000/x"});
    test.request.tries = 1;
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK(test.server.requests(5) == 5);
}

TEST_CASE("a download that ran out of time is gone on with by the next", "[download][case:SCALE-6]") {
    download_test test;
    test.from({"slow=200000,times=1/x"});
    const status ended = test.run(700ms);
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code == error_code::timed_out);
    const std::size_t part = test.downloaded().size();
    CHECK(part > 0);
    CHECK(part < content.size());
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK_THAT(test.server.log(), Contains("bytes=" + std::to_string(part) + "- 206"));
}

TEST_CASE("a server without ranges gives the whole file again", "[download]") {
    download_test test;
    test.from({"norange/x"});
    test.already(content.substr(0, 1000));
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK(test.server.log() == "GET /norange/x bytes=1000- 200 300000\n");
}

TEST_CASE("a wrong beginning is thrown away", "[download]") {
    download_test test;
    test.from({"x"});
    test.already(std::string(1000, 'x'));
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    // Nor is something of the wrong length or content taken for the file.
    test.already(content + "x");
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    test.already(std::string(content.size(), 'x'));
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
}

TEST_CASE("a part that was not asked for is refused", "[download]") {
    download_test test;
    test.from({"shift=5/x"});
    test.already(content.substr(0, 1000));
    const status ended = test.run();
    REQUIRE_FALSE(ended);
    CHECK_THAT(ended.failure().what, Contains("sends another part of the file than it was asked for"));
}

TEST_CASE("mirrors are asked in their order until one gives the file", "[download][case:SCALE-5]") {
    download_test test;
    test.from({"http://127.0.0.1:1/x", "missing/x", "wrong/x", "status=503/x", "x", "slow=1/x"});
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    CHECK(test.unreachable == std::vector<std::string>{"http://127.0.0.1:1"});
    CHECK(test.said.size() == 4);
    CHECK(test.server.requests(4) == 4);
}

TEST_CASE("what no mirror has is told of each", "[download]") {
    download_test test;
    test.from({"missing/x", "status=500/x"});
    test.request.tries = 1;
    const status ended = test.run();
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code == error_code::peer);
    CHECK_THAT(ended.failure().what, Contains("does not have it; ") && Contains("HTTP status 500"));
}

TEST_CASE("a mirror is not asked before it wants to be", "[download]") {
    download_test test;
    test.from({"status=503,after=1,times=1/x"});
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(test.run());
    CHECK(std::chrono::steady_clock::now() - start >= 1s);
    CHECK(test.server.requests(2) == 2);
}

TEST_CASE("a mirror that names times is asked more often than one that fails, if so wanted", "[download]") {
    download_test test;
    test.request.tries = 1;
    test.from({"status=503,after=1,times=2/x"});
    test.request.comes_back = false;
    REQUIRE_FALSE(test.run());
    CHECK(test.server.requests(1) == 1);
    test.request.comes_back = true;
    REQUIRE(test.run());
    CHECK(test.server.requests(3) == 3);
}

TEST_CASE("nobody waits for a mirror that wants to be asked after the deadline", "[download]") {
    download_test test;
    test.from({"status=429,after=600/x"});
    const auto start = std::chrono::steady_clock::now();
    const status ended = test.run(20s);
    REQUIRE_FALSE(ended);
    CHECK(ended.failure().code == error_code::timed_out);
    CHECK(std::chrono::steady_clock::now() - start < 10s);
    CHECK_THAT(ended.failure().what, Contains("HTTP status 429; too late to wait until it may be asked again"));
}

TEST_CASE("servers are reached through a proxy, but for those that need none", "[download]") {
    download_test test;
    test.request.proxy = test.server.origin();
    test.from({"http://mirror.invalid/x"});
    REQUIRE(test.run());
    CHECK(test.server.log() == "GET /x - 200 300000 proxied\n");
    test.already("");
    test.request.proxy = "http://127.0.0.1:1";
    test.request.no_proxy = "127.0.0.1";
    test.from({"x"});
    REQUIRE(test.run());
    CHECK_THAT(test.server.log(), Contains("GET /x - 200 300000\n"));
}

TEST_CASE("a file that nobody announced is bounded by its greatest size", "[download]") {
    download_test test;
    test.request.sha256 = "";
    test.from({"x"});
    REQUIRE(test.run());
    CHECK((test.downloaded() == content));
    test.request.bytes = content.size() - 1;
    const status longer = test.run();
    REQUIRE_FALSE(longer);
    CHECK_THAT(longer.failure().what, Contains("has 300000 bytes instead of at most 299999"));
    // What was cut is asked for as a whole: the file may have changed.
    test.request.bytes = content.size();
    test.from({"cut=1000,times=1/x"});
    REQUIRE(test.run());
    CHECK_THAT(test.server.log(), Contains("GET /cut=1000,times=1/x - 200 300000\n"));
}

TEST_CASE("pauses grow, are spread, and have a limit", "[download][case:SCALE-1]") {
    CHECK(pause_before(0, 0) == 0ms);
    CHECK(pause_before(0, 65535) < 500ms);
    CHECK(pause_before(0, 65535) > 490ms);
    CHECK(pause_before(3, 32768) == 2000ms);
    CHECK(pause_before(100, 65535) < 30s);
    CHECK(pause_before(100, 65535) > 29s);
}

TEST_CASE("an address is told without its path, name and password", "[download]") {
    CHECK(origin_of("https://a.example:8443/tree/x") == "https://a.example:8443");
    CHECK(origin_of("https://me:secret@a.example/tree") == "https://a.example");
    CHECK(origin_of("http://a.example") == "http://a.example");
    CHECK(origin_of("http://a.example/x@y") == "http://a.example");
    CHECK(origin_of("nonsense") == "nonsense");
}
