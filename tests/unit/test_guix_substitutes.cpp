#include "environment/guix_substitutes.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace amd_gpu;
using Catch::Matchers::Contains;

namespace {

const std::string a = "/gnu/store/" + std::string(32, 'a') + "-rochpl-7.1.1";
const std::string b = "/gnu/store/" + std::string(32, 'b') + "-rocblas-7.1.1";

/// Servers that know some items, or are dead; counts what they are asked.
struct some_servers {
    std::map<std::string, std::string> texts; ///< address -> text
    std::string dead;
    mutable unsigned requests = 0;

    [[nodiscard]] std::vector<std::string> hint(const std::vector<std::string>& servers,
                                                const std::vector<std::string>& items,
                                                deadline until = deadline::in(std::chrono::seconds(10))) const {
        return substitutes_hint(servers, items, until, [&](const std::string& url, deadline) -> result<std::string> {
            ++requests;
            if (!dead.empty() && url.starts_with(dead))
                return error{error_code::peer, "connection refused"};
            const auto found = texts.find(url);
            if (found == texts.end())
                return error{error_code::not_found, "404"};
            return found->second;
        });
    }
};

} // namespace

TEST_CASE("a derivation says where its output will be", "[guix]") {
    CHECK(derivation_output("Derive([(\"out\",\"" + a + "\",\"\",\"\")],[") == a);
    CHECK(derivation_output("Derive([(\"debug\",\"/x\",\"\",\"\"),(\"out\",\"/y\"") == "/x");
    for (const char* bad : {"", "Derive([(\"", "Derive([(\"out\",\"/x", "(profile", "Derive([(\"out\""})
        CHECK(derivation_output(bad).empty());
}

TEST_CASE("a plan says which substitute servers have what would be built", "[guix]") {
    some_servers servers;
    servers.texts["http://one/" + std::string(32, 'a') + ".narinfo"] =
        "StorePath: " + a + "\nFileSize: 9000000\nURL: x\nFileSize: 2500000\n";
    const auto lines = servers.hint({"http://one", "http://two"}, {a, b});
    REQUIRE(lines.size() == 2);
    CHECK_THAT(lines[0], Contains("http://one has 1 of 2 (2.5 MB)") && Contains("does not use or trust"));
    CHECK(lines[1] == "http://two has 0 of 2");
}

TEST_CASE("a dead server is asked once however many items there are", "[guix][case:SCALE-5]") {
    some_servers servers;
    servers.dead = "http://dead";
    const std::vector<std::string> items(200, a);
    const auto lines = servers.hint({"http://dead", "http://alive"}, items);
    REQUIRE(lines.size() == 2);
    CHECK_THAT(lines[0], Contains("http://dead does not answer: connection refused"));
    CHECK(lines[1] == "http://alive has 0 of 200");
    CHECK(servers.requests == 201);
    CHECK(servers.hint({"http://alive"}, {"/gnu/store/short"}) == std::vector<std::string>{"http://alive has 0 of 0"});
}

TEST_CASE("asking the servers ends in time", "[guix][case:SCALE-5]") {
    const some_servers servers;
    const auto lines = servers.hint({"http://one"}, {a, b}, deadline::in(std::chrono::seconds(0)));
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines[0], Contains("no time left"));
    CHECK(servers.requests == 0);
}
