// Emptying a directory whatever is in it.
#include "system/tree.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amd_gpu;

namespace {

bool is_empty(const std::string& path) {
    return std::filesystem::is_empty(path);
}

} // namespace

TEST_CASE("files, links and directories go, what links point to stays", "[tree]") {
    const temporary_directory at;
    at.write("keep/file", "x");
    const auto top = at.make("top");
    at.write("top/a/b/c/file", "x");
    at.write("top/.hidden", "x");
    at.write("top/new\nline", "x");
    std::filesystem::create_symlink(at.path() + "/keep", top + "/link");
    std::filesystem::create_symlink(at.path() + "/keep", top + "/a/b/link");
    std::filesystem::create_symlink("/nowhere", top + "/dangling");
    REQUIRE(::mkfifo((top + "/fifo").c_str(), 0600) == 0);
    REQUIRE(empty_directory(top));
    CHECK(is_empty(top));
    CHECK(std::filesystem::exists(at.path() + "/keep/file"));
    CHECK(empty_directory(top));
}

TEST_CASE("directories that chmod has closed are opened", "[tree]") {
    const temporary_directory at;
    const auto top = at.make("top");
    at.write("top/closed/inside/file", "x");
    at.write("top/read-only/deep/er/file", "x");
    for (const char* path : {"top/closed/inside", "top/closed", "top/read-only/deep/er", "top/read-only/deep", "top"})
        REQUIRE(::chmod((at.path() + "/" + path).c_str(), path[4] == 'r' ? 0500 : 0) == 0);
    CHECK(empty_directory(top));
    CHECK(is_empty(top));
}

TEST_CASE("a tree deeper than there are descriptors and longer than a path can be is removed", "[tree]") {
    const temporary_directory at;
    const auto top = at.make("top");
    int here = ::open(top.c_str(), O_RDONLY | O_DIRECTORY);
    constexpr int depth = 3000;
    for (int i = 0; i < depth; ++i) {
        REQUIRE(::mkdirat(here, ".moved-0", 0700) == 0); // the very names that a removal gives
        const int next = ::openat(here, ".moved-0", O_RDONLY | O_DIRECTORY);
        ::close(here);
        here = next;
        REQUIRE(here >= 0);
    }
    ::close(::openat(here, "bottom", O_CREAT | O_WRONLY, 0600));
    ::close(here);
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit few = before;
    few.rlim_cur = 64;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    const auto done = empty_directory(top);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK(done);
    CHECK(is_empty(top));
}

TEST_CASE("only a directory is emptied, and never through a link", "[tree]") {
    const temporary_directory at;
    at.write("keep/file", "x");
    std::filesystem::create_symlink(at.path() + "/keep", at.path() + "/link");
    CHECK_FALSE(empty_directory(at.path() + "/link"));
    CHECK_FALSE(empty_directory(at.path() + "/keep/file"));
    CHECK_FALSE(empty_directory(at.path() + "/nowhere"));
    CHECK(std::filesystem::exists(at.path() + "/keep/file"));
}
