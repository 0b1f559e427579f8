// The reader of Guile's data: what it takes apart, and what it refuses.
#include "environment/scheme.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;

namespace {

std::vector<scheme_value> data(const std::string& text) {
    const auto read = read_scheme(text);
    INFO(text);
    if (!read)
        FAIL(read.failure().what);
    return *read;
}

std::string mistake(const std::string& text) {
    const auto read = read_scheme(text);
    INFO(text.substr(0, 100));
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == error_code::configuration);
    return read.failure().what;
}

} // namespace

TEST_CASE("Scheme data is read as lists, texts and symbols") {
    const auto read = data(R"(; a comment
(manifest (version 4) (packages (("hello" "2.12" "out" #f))) #| another (one |# [x "a\"b\\c\n"]))");
    REQUIRE(read.size() == 1);
    const scheme_value& list = read.front();
    REQUIRE(list.items.size() == 4);
    CHECK(list.items[0].is_symbol("manifest"));
    const scheme_value* version = list.entry("version");
    REQUIRE(version != nullptr);
    CHECK(version->items[1].is_symbol("4"));
    const scheme_value& package = list.entry("packages")->items[1].items[0];
    CHECK(package.items[0].is_text());
    CHECK(package.items[0].word == "hello");
    CHECK(package.items[3].is_symbol("#f"));
    CHECK(list.entry("x")->items[1].word == "a\"b\\c\n");
    CHECK(list.entry("none") == nullptr);
}

TEST_CASE("quote marks before a datum are dropped") {
    const auto read = data("'(a `b ,c #~(d))");
    REQUIRE(read.size() == 1);
    REQUIRE(read[0].items.size() == 4);
    CHECK(read[0].items[3].items[0].is_symbol("d"));
}

TEST_CASE("Scheme data that is cut off, unbalanced or too deep is refused") {
    for (const std::string text : {"(", "(a (b)", "(\"a", "(\"a\\", "(;)", "(#|", "[a"}) {
        INFO(text);
        CHECK_FALSE(mistake(text).empty());
    }
    CHECK_THAT(mistake(")"), Contains("closing parenthesis"));
    CHECK_THAT(mistake(std::string(100000, '(')), Contains("too many lists"));
    CHECK(data(std::string(50, '(') + std::string(50, ')')).size() == 1);
    CHECK(data("").empty());
    CHECK(data(" ; nothing\n#| x").empty());
}

TEST_CASE("a text becomes a literal that reads back as it was") {
    for (const std::string text : {"", "plain", "with \"quotes\" and \\", "(a) ; #| `,'"}) {
        const auto read = data(scheme_text(text));
        REQUIRE(read.size() == 1);
        CHECK(read[0].is_text());
        CHECK(read[0].word == text);
    }
}
