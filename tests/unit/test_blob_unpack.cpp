// Images where the kernel cannot mount them: these tests need root.
#include "cached_images.hpp"
#include "environment/blob_pins.hpp"
#include "environment/blob_unpack.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>

using namespace amd_gpu;
using namespace std::chrono_literals;

TEST_CASE("lines of unsquashfs give the size of files", "[blobs]") {
    CHECK(listed_bytes("-rw-r--r-- 0/0                       3 2026-12-01 04:26 squashfs-root/a") == 3);
    CHECK(listed_bytes("-rw-r--r-- 1000/100 1099511627776 2026-12-01 04:26 squashfs-root/a b") == 1099511627776);
    CHECK(listed_bytes("drwxr-xr-x 0/0                      24 2026-12-01 04:26 squashfs-root") == 0);
    CHECK(listed_bytes("crw-r--r-- 0/0                 1,  3 2026-12-01 04:26 squashfs-root/null") == 0);
    CHECK(listed_bytes("") == 0);
    CHECK_FALSE(listed_bytes("-rw"));
    CHECK_FALSE(listed_bytes("-rw-r--r-- 0/0 x 2026-12-01 04:26 a"));
    CHECK_FALSE(listed_bytes("-rw-r--r-- 0/0 99999999999999999999 2026-12-01 04:26 a"));
}

namespace {

/// Runs a test's body in a process whose /dev has no loop devices, and gives what it says.
int without_loop_devices(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("tmpfs", "/dev", "tmpfs", 0, "mode=0755") != 0 ||
            ::mknod("/dev/null", S_IFCHR | 0666, ::makedev(1, 3)) != 0)
            ::_exit(100);
        ::_exit(body());
    }
    int ended = 0;
    ::waitpid(child, &ended, 0);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : 200;
}

} // namespace

TEST_CASE("an image is unpacked where it cannot be mounted, and is as harmless", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const std::string tree = node.directory.make("tree-demo");
    node.directory.write("tree-demo/program", "#!/bin/sh");
    REQUIRE(::mknod((tree + "/null").c_str(), S_IFCHR | 0666, ::makedev(1, 3)) == 0);
    REQUIRE(::chown((tree + "/program").c_str(), 65534, 65534) == 0);
    REQUIRE(::chmod((tree + "/program").c_str(), 06777) == 0);
    REQUIRE(::symlink("/etc/passwd", (tree + "/link").c_str()) == 0);
    const auto what = node.image("demo", 64);
    const std::string where = node.place().unpacked(what.sha256);
    CHECK(without_loop_devices([&] {
              blob_cache cache(node.site, node.fetcher());
              const auto first = cache.hold(what, 1, deadline::in(60s), silence);
              const auto second = cache.hold(what, 2, deadline::in(60s), silence);
              if (!first || !second || *first != where || *second != where)
                  return 1;
              return node.fetches == 1 ? 0 : 2;
          }) == 0);
    CHECK(read_line(where + "/name") == "demo");
    CHECK(read_link(where + "/link") == "/etc/passwd");
    struct stat info{};
    REQUIRE(::stat((where + "/program").c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0755);
    CHECK(info.st_uid == 0);
    CHECK(::lstat((where + "/null").c_str(), &info) != 0);
    CHECK(node.mounted() == 0);
    CHECK(list_directory(node.place().unpacks()) == std::vector<std::string>{what.sha256, what.sha256 + ".bytes"});
}

TEST_CASE("an image that is small and unpacks to more than the disk has is refused", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    node.directory.make("tree-demo");
    const std::string bomb = node.directory.write("tree-demo/bomb", "");
    REQUIRE(::truncate(bomb.c_str(), 1LL << 30) == 0); // a gigabyte of nothing
    const auto what = node.image("demo");
    REQUIRE(what.bytes < (1U << 20));
    CHECK(without_loop_devices([&] {
              if (::mkdir(node.site.cache_directory.c_str(), 0755) != 0 ||
                  ::mount("tmpfs", node.site.cache_directory.c_str(), "tmpfs", 0, "mode=0755,size=256m") != 0)
                  return 1;
              blob_cache cache(node.site, node.fetcher());
              const auto held = cache.hold(what, 1, deadline::in(60s), silence);
              if (held || held.failure().what.find("no room to unpack an image: ") == std::string::npos)
                  return 2;
              return list_directory(node.place().unpacks()).empty() ? 0 : 3;
          }) == 0);
}
