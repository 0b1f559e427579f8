// Hints about TMPDIR.
#include "spank/temporary.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

namespace {

constexpr directory_facts good{true, true, true, false, 1ULL << 30};

} // namespace

TEST_CASE("a TMPDIR that will make trouble is told in one line, a good one is not", "[temporary][case:ENV-3]") {
    CHECK(temporary_hint("/tmp", good).empty());
    CHECK(temporary_hint("/x", {}).find("no directory") != std::string::npos);
    auto facts = good;
    facts.in_memory = true;
    CHECK(temporary_hint("/dev/shm/x", facts).find("memory") != std::string::npos);
    facts = good;
    facts.executable = false;
    CHECK(temporary_hint("/x", facts).find("noexec") != std::string::npos);
    facts = good;
    facts.free_bytes = 4096;
    CHECK(temporary_hint("/x", facts).find("4 KiB") != std::string::npos);
    facts = good;
    facts.writable = false;
    CHECK(temporary_hint("/x", facts).find("written") != std::string::npos);
}

TEST_CASE("what is known of a directory travels as a text", "[temporary]") {
    CHECK(parse_directory_facts(to_text(good)) == good);
    CHECK(parse_directory_facts(to_text({})) == directory_facts{});
    for (const char* bad : {"", "1", "11x1 5", "1111"})
        CHECK_FALSE(parse_directory_facts(bad));
    const temporary_directory at;
    const auto here = look_at_directory(at.path());
    CHECK(here.exists);
    CHECK(here.writable);
    CHECK_FALSE(here.in_memory);
    CHECK_FALSE(look_at_directory(at.path() + "/nowhere").exists);
    CHECK(look_at_directory("/dev/shm").in_memory);
}
