// The index of a bundle tree: what is read, and what is refused though it is signed.
#include "environment/bundle.hpp"
#include "environment/bundle_child.hpp"

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace amd_gpu;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

const std::string hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

std::string variant_text(const std::string& more = "") {
    return R"({"targets": ["gfx90a"], "blob": {"sha256": ")" + hash + R"(", "bytes": 4096})" + more + "}";
}

std::string index_text(const std::string& environments, const std::string& head = R"("schema": 1, "version": 7)") {
    return "{" + head + R"(, "expires": "2027-01-31T12:00:00Z", "environments": )" + environments + "}";
}

std::string mistake(const std::string& text) {
    const auto read = parse_bundle_index(text);
    if (read)
        return "no mistake";
    CHECK(read.failure().code == error_code::peer);
    return read.failure().what;
}

} // namespace

TEST_CASE("an index is read", "[bundle]") {
    const auto read = parse_bundle_index(
        index_text(R"({"hpl": [)" + variant_text(R"(, "edits": ["prepend PATH=${prefix}/sbin"], "suggests_edits": false,
                                     "mount_point": "/opt/hpl", "later": "keys are ignored")") +
                   "], \"empty\": []}"));
    REQUIRE(read);
    CHECK(read->version == 7);
    CHECK(read->expires == 1801396800);
    REQUIRE(read->environments.at("hpl").size() == 1);
    CHECK_FALSE(read->environments.contains("empty"));
    const variant_candidate& one = read->environments.at("hpl").front();
    CHECK(one.unusable.empty());
    CHECK(one.found.environment == "hpl");
    CHECK(one.found.provider == "bundle");
    CHECK(one.found.kept == storage::blob);
    CHECK(one.found.blob == hash);
    CHECK(one.found.blob_bytes == 4096);
    CHECK(one.found.mount_point == "/opt/hpl");
    CHECK_FALSE(one.found.suggests_edits);
    REQUIRE(one.found.edits.size() == 1);
    CHECK(one.found.edits.front().name == "PATH");
    // And written again, it reads the same.
    const auto again = parse_bundle_index(to_json(*read));
    REQUIRE(again);
    CHECK(again->environments.at("hpl").front().found == one.found);
    CHECK(again->version == read->version);
    CHECK(again->expires == read->expires);
}

TEST_CASE("an index that is wrong is refused", "[bundle]") {
    CHECK(mistake("") == "no JSON object of the right form");
    CHECK(mistake("[]") == "no JSON object of the right form");
    CHECK(mistake(std::string(3'000'000, '[')) == "no JSON object of the right form");
    CHECK(mistake(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}") ==
          "no JSON object of the right form");
    CHECK(mistake("{}") == "schema is missing");
    CHECK_THAT(mistake(index_text("{}", R"("schema": 2, "version": 1)")), Contains("newer than this program"));
    CHECK(mistake(index_text("{}", R"("schema": "1", "version": 1)")) == "schema is missing");
    for (const char* version : {"0", "-1", "1.5", "\"1\"", "null", "18446744073709551615", "1e3"})
        CHECK(mistake(index_text("{}", fmt::format(R"("schema": 1, "version": {})", version))) ==
              "version must be a whole number from 1");
    for (const char* time : {"null", "\"\"", "\"2027-02-30T00:00:00Z\"", "\"2027-01-31 12:00:00\"", "-5", "1e300",
                             "\"2027-01-31T12:00:00+01:00\"", "[]"})
        CHECK_THAT(mistake(fmt::format(R"({{"schema": 1, "version": 1, "expires": {}, "environments": {{}}}})", time)),
                   Contains("expires must be a time"));
    CHECK_THAT(mistake(index_text("[]")), Contains("environments must be an object"));
    CHECK_THAT(mistake(index_text(R"({"hpl": {}})")), Contains("must be a list"));
    const std::string whole = index_text(R"({"hpl": [)" + variant_text() + "]}");
    REQUIRE(mistake(whole) == "no mistake");
    for (std::size_t size = 0; size < whole.size(); ++size)
        CHECK(mistake(whole.substr(0, size)) == "no JSON object of the right form");
    CHECK_THAT(mistake(std::string(longest_index + 1, ' ')), Contains("longer than"));
}

TEST_CASE("names that no environment can have are refused", "[bundle]") {
    for (const char* name : {"", "..", "../x", "/etc", "a/b", "a b", "a\\nb", "a\\\"b", "a\\u0000b", ".hidden",
                             "\xc3\xa4", "'; rm", "a:b", "${x}"}) {
        INFO(name);
        CHECK(mistake(index_text(fmt::format(R"({{"{}": []}})", name))) ==
              "environments holds a name that no environment can have");
    }
}

TEST_CASE("a variant that is wrong cannot be used, and the others can", "[bundle]") {
    const std::string wrong[] = {
        "7",
        "{}",
        R"({"targets": ["gfx90a"]})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": "../../etc/passwd", "bytes": 1}})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": "/etc/passwd", "bytes": 1}})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": 7, "bytes": 1}})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": ")" + hash + R"(", "bytes": 0}})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": ")" + hash + R"(", "bytes": -1}})",
        R"({"targets": ["gfx90a"], "blob": {"sha256": ")" + hash + R"(", "bytes": "4096"}})",
        R"({"targets": ["nonsense"], "blob": {"sha256": ")" + hash + R"(", "bytes": 1}})",
        R"({"targets": [], "blob": {"sha256": ")" + hash + R"(", "bytes": 1}})",
        variant_text(R"(, "mount_point": "relative")"),
        variant_text(R"(, "mount_point": "/opt/../etc")"),
        variant_text(R"(, "mount_point": "/opt/a b")"),
        variant_text(R"(, "mount_point": "/")"),
        variant_text(R"(, "mount_point": "/opt/a\nb")"),
        variant_text(R"(, "edits": ["set LD_PRELOAD=/tmp/x.so"])"),
        variant_text(R"(, "edits": ["set ROCR_VISIBLE_DEVICES=0"])"),
        variant_text(R"(, "edits": ["nonsense"])"),
    };
    for (const std::string& one : wrong) {
        INFO(one);
        const auto read = parse_bundle_index(index_text(R"({"hpl": [)" + one + "," + variant_text() + "]}"));
        REQUIRE(read);
        const auto& variants = read->environments.at("hpl");
        REQUIRE(variants.size() == 2);
        CHECK_FALSE(variants.front().unusable.empty());
        CHECK(variants.back().unusable.empty());
    }
}

TEST_CASE("an index of the past and one that has expired may not be used", "[bundle]") {
    bundle_index index;
    index.version = 5;
    index.expires = 1000;
    CHECK(may_use(index, 5, 999));
    CHECK(may_use(index, 0, 0));
    const status replayed = may_use(index, 6, 999);
    REQUIRE_FALSE(replayed);
    CHECK_THAT(replayed.failure().what, Contains("version 5, but version 6 was seen before"));
    const status expired = may_use(index, 5, 1000);
    REQUIRE_FALSE(expired);
    CHECK(expired.failure().what == "expired on 1970-01-01T00:16:40Z; its publisher must sign a new one");
}

TEST_CASE("what passes between the agent and its child reads back", "[bundle]") {
    download_request request;
    request.urls = {"https://a/x", "https://b/\"quoted\\x"};
    request.sha256 = hash;
    request.bytes = 1UL << 40;
    request.ca_file = "/etc/ca.pem";
    request.proxy = "http://me:secret@proxy";
    request.no_proxy = ".site";
    request.tries = 9;
    request.comes_back = false;
    const auto read = parse_child_request(to_child_request(request, 1234ms));
    REQUIRE(read);
    CHECK(read->first == request);
    CHECK(read->second == 1234ms);
    for (const char* text : {"", "{}", "7", R"({"urls": []})", R"({"urls": ["x"], "bytes": 0, "tries": 1})"})
        CHECK_FALSE(parse_child_request(text));

    child_message end;
    end.what = child_message::kind::end;
    end.ended = error{error_code::timed_out, "line\nand \xff"};
    const auto back = parse_child_line(to_line(end));
    REQUIRE(back);
    REQUIRE_FALSE(back->ended);
    CHECK(back->ended.failure().code == error_code::timed_out);
    end.ended = success();
    CHECK(parse_child_line(to_line(end))->ended);
    child_message busy;
    busy.what = child_message::kind::busy;
    busy.text = "https://mirror";
    busy.seconds = 7;
    const auto later = parse_child_line(to_line(busy));
    REQUIRE(later);
    CHECK(later->what == child_message::kind::busy);
    CHECK(later->text == "https://mirror");
    CHECK(later->seconds == 7);
    for (const char* line : {"", "x", "[]", "{}", R"({"bytes": 1, "say": ""})", R"({"busy": 7})", R"({"other": 1})"})
        CHECK_FALSE(parse_child_line(line));
    // A child that speaks nonsense has not succeeded.
    const auto nonsense = parse_child_line(R"({"end": 7})");
    REQUIRE(nonsense);
    CHECK_FALSE(nonsense->ended);
}
