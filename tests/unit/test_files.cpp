// Small files, read and written.
#include "system/files.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace amd_gpu;

TEST_CASE("a file is read whole or refused", "[files]") {
    const temporary_directory at;
    std::ofstream(at.path() + "/f") << "first line \n second\n";
    CHECK(*read_file(at.path() + "/f") == "first line \n second\n");
    CHECK(read_line(at.path() + "/f") == "first line");
    CHECK_FALSE(read_file(at.path() + "/f", 5));
    CHECK(read_file(at.path() + "/f", 20));
    const auto missing = read_file(at.path() + "/g");
    REQUIRE_FALSE(missing);
    CHECK(missing.failure().code == error_code::not_found);
    CHECK_FALSE(read_file(at.path()));
}

TEST_CASE("numbers are read strictly", "[files]") {
    CHECK(parse_number("42") == 42U);
    CHECK(parse_number("0x1F") == 31U);
    CHECK(parse_number("18446744073709551615") == UINT64_MAX);
    for (const char* bad : {"", "-1", "+1", " 1", "1 ", "0x", "1.0", "18446744073709551616", "N/A"}) {
        CAPTURE(bad);
        CHECK_FALSE(parse_number(bad));
    }
    const temporary_directory at;
    std::ofstream(at.path() + "/n") << "17\n";
    std::ofstream(at.path() + "/empty") << "";
    CHECK(read_number(at.path() + "/n") == 17U);
    CHECK_FALSE(read_number(at.path() + "/empty"));
}

TEST_CASE("a file is replaced as one step and leaves nothing beside it", "[files]") {
    const temporary_directory at;
    REQUIRE(write_file_atomically(at.path() + "/state", "one", 0644));
    REQUIRE(write_file_atomically(at.path() + "/state", "two", 0600));
    CHECK(*read_file(at.path() + "/state") == "two");
    struct stat found{};
    REQUIRE(::stat((at.path() + "/state").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0600);
    CHECK(list_directory(at.path()) == std::vector<std::string>{"state"});
}

TEST_CASE("a full disk is named, and the old content stays", "[files]") {
    const auto written = write_file_atomically("/dev/full/state", "x", 0644);
    CHECK_FALSE(written);
    const temporary_directory at;
    REQUIRE(write_file_atomically(at.path() + "/state", "old", 0644));
    std::filesystem::create_directory(at.path() + "/directory");
    CHECK_FALSE(write_file_atomically(at.path() + "/directory", "x", 0644));
    CHECK(list_directory(at.path()) == std::vector<std::string>{"directory", "state"});
}

TEST_CASE("directories are made with those above them, twice without complaint", "[files]") {
    const temporary_directory at;
    CHECK(make_directories(at.path() + "/a/b/c", 0755));
    CHECK(make_directories(at.path() + "/a/b/c", 0755));
    std::ofstream(at.path() + "/file") << "x";
    CHECK_FALSE(make_directories(at.path() + "/file/d", 0755));
}

TEST_CASE("texts are trimmed and split", "[files]") {
    CHECK(trimmed("  a b \n") == "a b");
    CHECK(trimmed(" \t").empty());
    CHECK(split("a,,b", ',') == std::vector<std::string>{"a", "", "b"});
    CHECK(split("", ',') == std::vector<std::string>{""});
}
