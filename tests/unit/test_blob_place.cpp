// Where a cache of images may lie, what an image must look like, and which images make room.
#include "cached_images.hpp"
#include "environment/blob_image.hpp"
#include "environment/blob_pins.hpp"
#include "environment/blob_room.hpp"
#include "system/file_lock.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

using namespace amd_gpu;
using namespace std::chrono_literals;

TEST_CASE("file systems that nodes share are known by their numbers", "[blobs][case:SCALE-2]") {
    CHECK(shared_file_system(0x6969) == "NFS");
    CHECK(shared_file_system(0x0BD00BD0) == "Lustre");
    CHECK(shared_file_system(0x47504653) == "GPFS");
    CHECK(shared_file_system(0x65735546) == "FUSE");
    CHECK(shared_file_system(0xFF534D42) == "CIFS");
    CHECK(shared_file_system(0xEF53).empty());     // ext4
    CHECK(shared_file_system(0x58465342).empty()); // XFS
    CHECK(shared_file_system(0x01021994).empty()); // tmpfs: nodes without disks have nothing else
}

TEST_CASE("images do not go where memory is for sockets", "[blobs][case:SCALE-4]") {
    CHECK_FALSE(path_problem("/run").empty());
    CHECK_FALSE(path_problem("/run/amd-gpu").empty());
    CHECK_FALSE(path_problem("/dev/shm/cache").empty());
    CHECK(path_problem("/runner/cache").empty());
    CHECK(path_problem("/var/cache/amd-gpu-agent").empty());
    const auto place = open_blob_place("/var/run/amd-gpu-agent-test-cache"); // a link to /run
    ::rmdir("/run/amd-gpu-agent-test-cache");
    REQUIRE_FALSE(place);
    CHECK(place.failure().code == error_code::configuration);
    CHECK(place.failure().what.find("memory") != std::string::npos);
}

TEST_CASE("a cache that others may write into is none", "[blobs]") {
    const temporary_directory directory;
    const std::string cache = directory.make("cache");
    SECTION("the directory") {
        REQUIRE(::chmod(cache.c_str(), 0777) == 0);
    }
    SECTION("one inside it") {
        REQUIRE(::chmod(directory.make("cache/mounts").c_str(), 0775) == 0);
    }
    SECTION("one above it") {
        REQUIRE(::chmod(directory.path().c_str(), 0777) == 0);
    }
    SECTION("a file where a directory should be") {
        directory.write("cache/pins", "");
    }
    SECTION("a link where a directory should be") {
        REQUIRE(::symlink("/etc", (cache + "/blobs").c_str()) == 0);
    }
    const auto place = open_blob_place(cache);
    REQUIRE_FALSE(place);
    CHECK(place.failure().code == error_code::configuration);
    CHECK(place.failure().what.starts_with("[cache] directory: "));
}

TEST_CASE("a superblock that makes no sense is refused", "[blobs]") {
    const temporary_directory directory;
    directory.write("tree/a", "a");
    make_image(directory.path() + "/tree", directory.path() + "/image");
    const std::string good = *read_file(directory.path() + "/image");
    const auto facts = parse_superblock(good, good.size());
    REQUIRE(facts);
    CHECK(facts->inodes == 2);
    CHECK(facts->block_bytes == 128 * 1024);
    const auto refused = [&](std::size_t at, char byte) {
        std::string bad = good;
        bad[at] = byte;
        return !parse_superblock(bad, bad.size());
    };
    CHECK(refused(0, 's'));   // magic of the other byte order
    CHECK(refused(28, 3));    // version 3
    CHECK(refused(30, 1));    // version 4.1
    CHECK(refused(12, 1));    // no power of two
    CHECK(refused(14, 0));    // a block of no bytes
    CHECK(refused(14, 0x20)); // 2 MiB
    CHECK(refused(22, 12));   // logarithm of another block size
    CHECK(refused(46, 1));    // hundreds of terabytes
    CHECK_FALSE(parse_superblock(std::string_view(good).substr(0, 95), 95));
    CHECK_FALSE(parse_superblock("", 0));
    CHECK_FALSE(parse_superblock(good, facts->bytes_used - 1));
}

TEST_CASE("images that have not been used for long make room", "[blobs][case:SCALE-3]") {
    const std::vector<cached_image> present = {{"new", 100, 30, false}, {"old", 100, 10, false}, {"job", 100, 5, true}};
    const auto removed = [&](uint64_t need, const cache_room& room) {
        const auto list = images_to_remove(present, need, room);
        return list ? *list : std::vector<std::string>{list.failure().what};
    };
    using names = std::vector<std::string>;
    constexpr uint64_t much = 1ULL << 40;
    CHECK(removed(100, {400, much, 1000}) == names{});
    CHECK(removed(101, {400, much, 1000}) == names{"old"});
    CHECK(removed(301, {500, much, {}}) == names{"old", "new"});
    CHECK(removed(401, {500, much, {}}).front().find("in use have 100 bytes") != std::string::npos);
    CHECK(removed(600, {500, much, {}}).front().find("limit is 500 bytes") != std::string::npos);
    CHECK(removed(UINT64_MAX, {500, much, {}}).size() == 1);
    // The disk, not the limit.
    CHECK(removed(100, {much, (1U << 20) + 50, {}}) == names{"old"});
    CHECK(removed(1000, {much, 1U << 20, {}}).front().find("the disk has") != std::string::npos);
    CHECK(removed(10, {much, much, 14}) == names{"old"});
    CHECK(removed(10, {much, much, 3}).front().find("inodes") != std::string::npos);
    CHECK(removed(10, {much, 0, {}}).front().find("the disk has") != std::string::npos);
}

TEST_CASE("only what the controller says is over is over", "[blobs]") {
    using answer = result<slurm_control::job_record>;
    const auto in_state = [](const char* state) {
        slurm_control::job_record job;
        job.state = state;
        return has_ended(answer(job));
    };
    CHECK(in_state("COMPLETED"));
    CHECK(in_state("OUT_OF_MEMORY"));
    CHECK_FALSE(in_state("RUNNING"));
    CHECK_FALSE(in_state("COMPLETING"));
    CHECK_FALSE(in_state("PENDING"));
    CHECK_FALSE(in_state("SOMETHING_NEW"));
    CHECK(
        has_ended(answer(error{error_code::peer, "scontrol show: slurm_load_jobs error: Invalid job id specified\n"})));
    CHECK_FALSE(has_ended(answer(error{error_code::peer, "Unable to contact slurm controller"})));
    CHECK_FALSE(has_ended(answer(error{error_code::timed_out, "scontrol show: ran past its deadline"})));
}

TEST_CASE("mounts of a directory are found in the kernel's list", "[blobs]") {
    const std::string text =
        "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
        "42 27 7:0 / /var/a\\040b/mounts/abc ro,nosuid,nodev,relatime shared:1 master:2 - squashfs "
        "/dev/loop0 ro,errors=continue\n"
        "43 42 0:5 / /var/a\\040b/mounts/abc/inside rw - tmpfs none rw\n"
        "44 27 7:1 / /var/a\\040b/mountsabc ro - squashfs /dev/loop1 ro\n"
        "45 27 half a line\n";
    const auto found = mounts_in(text, "/var/a b/mounts");
    REQUIRE(found.size() == 1);
    CHECK(found[0].directory == "/var/a b/mounts/abc");
    CHECK(found[0].source == "/dev/loop0");
}

TEST_CASE("a lock keeps others away until a deadline, and survives the removal of its file", "[blobs]") {
    const temporary_directory directory;
    const std::string path = directory.path() + "/lock";
    using kind = file_lock::kind;
    {
        const auto first = file_lock::take(path, kind::shared, deadline::in(0ms));
        REQUIRE(first);
        CHECK(file_lock::take(path, kind::shared, deadline::in(0ms)));
        const auto second = file_lock::take(path, kind::alone, deadline::in(20ms));
        REQUIRE_FALSE(second);
        CHECK(second.failure().code == error_code::timed_out);
    }
    auto alone = file_lock::take(path, kind::alone, deadline::in(0ms));
    REQUIRE(alone);
    alone->remove();
    CHECK(file_lock::take(path, kind::alone, deadline::in(0ms))); // on a new file
}
