// The node's cache of images, with real images, loop devices and mounts: these tests need root.
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

namespace {

std::string name_in(const result<std::string>& directory) {
    return directory ? read_line(*directory + "/name").value_or("no name") : directory.failure().what;
}

} // namespace

TEST_CASE("an image is fetched, checked, mounted read-only and kept", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    blob_cache cache(node.site, node.fetcher());
    const auto held = cache.hold(what, 7, deadline::in(20s), silence);
    CHECK(name_in(held) == "demo");
    CHECK(*held == node.place().mount(what.sha256));
    struct stat info{};
    REQUIRE(::stat(node.place().blob(what.sha256).c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0444);
    CHECK(info.st_uid == 0);
    CHECK(list_directory(node.place().partials()).empty());
    const auto mounts = *read_file("/proc/self/mountinfo");
    const auto line = mounts.substr(mounts.find(*held));
    CHECK(line.substr(0, line.find('\n')).find("ro,nosuid,nodev") != std::string::npos);
    CHECK(node.pins() == std::vector<std::string>{"7." + what.sha256});

    SECTION("the next job gets the same mount") {
        CHECK(name_in(cache.hold(what, 8, deadline::in(20s), silence)) == "demo");
        CHECK(node.fetches == 1);
        CHECK(node.mounted() == 1);
        cache.release(7);
        CHECK(node.pins() == std::vector<std::string>{"8." + what.sha256});
    }
    SECTION("it stays when nobody uses it") {
        cache.release(7);
        CHECK(node.pins().empty());
        CHECK(node.mounted() == 1);
    }
}

TEST_CASE("64 jobs at once make one fetch and one mount", "[blobs][case:SCALE-3]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 512);
    blob_cache cache(node.site, node.fetcher());
    std::vector<std::thread> jobs;
    std::atomic<int> good = 0;
    for (uint32_t job = 1; job <= 64; ++job)
        jobs.emplace_back([&, job] {
            if (name_in(cache.hold(what, job, deadline::in(60s), silence)) == "demo")
                ++good;
        });
    for (auto& one : jobs)
        one.join();
    CHECK(good == 64);
    CHECK(node.fetches == 1);
    CHECK(node.mounted() == 1);
    CHECK(node.loops() == 1);
    CHECK(node.pins().size() == 64);
}

TEST_CASE("a failure is told to all who wait, and the next try begins anew", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    std::atomic<bool> open = false;
    std::atomic<int> fetches = 0;
    const blob_fetcher good = node.fetcher();
    blob_cache cache(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         if (++fetches > 1)
                             return good(one, to, until, say);
                         say("waiting for the others");
                         while (!open)
                             std::this_thread::yield();
                         return status(error{error_code::peer, "three servers gave up"});
                     });
    std::vector<std::thread> jobs;
    std::atomic<int> heard = 0;
    std::atomic<int> failed = 0;
    for (uint32_t job = 1; job <= 8; ++job)
        jobs.emplace_back([&, job] {
            const auto held = cache.hold(what, job, deadline::in(60s), [&](const std::string& text) {
                if (text == "waiting for the others")
                    ++heard;
            });
            if (!held && held.failure().what.find("three servers gave up") != std::string::npos)
                ++failed;
        });
    while (heard < 8)
        std::this_thread::yield();
    open = true;
    for (auto& one : jobs)
        one.join();
    CHECK(failed == 8);
    CHECK(fetches == 1);
    CHECK(name_in(cache.hold(what, 9, deadline::in(20s), silence)) == "demo");
}

TEST_CASE("a fetch that ran into the job's limit says so, and goes on next time", "[blobs][case:SCALE-6]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 64);
    const auto bytes = *read_file(node.directory.path() + "/server/" + what.sha256);
    const blob_fetcher good = node.fetcher();
    uint64_t resumed_at = 0;
    int fetches = 0;
    blob_cache cache(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         if (++fetches > 1) {
                             resumed_at = std::filesystem::file_size(to);
                             return good(one, to, until, say);
                         }
                         std::ofstream(to, std::ios::binary | std::ios::app) << bytes.substr(0, 1000);
                         say("own limit of 60 s, 40 % done");
                         while (!until.passed())
                             std::this_thread::sleep_for(until.left());
                         return status(error{error_code::timed_out, "own limit of 60 s, 40 % done"});
                     });
    const auto late = cache.hold(what, 1, deadline::in(300ms), silence);
    REQUIRE_FALSE(late);
    CHECK(late.failure().code == error_code::timed_out);
    CHECK(late.failure().what.find("40 % done") != std::string::npos);
    CHECK(name_in(cache.hold(what, 1, deadline::in(20s), silence)) == "demo");
    CHECK(resumed_at == 1000);
}

TEST_CASE("who has more time than the one who began goes on", "[blobs][case:SCALE-6]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    const blob_fetcher good = node.fetcher();
    std::atomic<int> fetches = 0;
    std::atomic<bool> second = false;
    blob_cache cache(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         if (++fetches > 1)
                             return good(one, to, until, say);
                         say("slow");
                         while (!second || !until.passed())
                             std::this_thread::yield();
                         return status(error{error_code::timed_out, "too slow"});
                     });
    std::thread impatient([&] { CHECK_FALSE(cache.hold(what, 1, deadline::in(200ms), silence)); });
    while (fetches == 0)
        std::this_thread::yield();
    const auto held = cache.hold(what, 2, deadline::in(20s), [&](const std::string&) { second = true; });
    impatient.join();
    CHECK(name_in(held) == "demo");
    CHECK(fetches == 2);
}

TEST_CASE("a new agent finds mounts and pins, and forgets those of an earlier boot", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    {
        blob_cache cache(node.site, node.fetcher());
        REQUIRE(cache.hold(what, 7, deadline::in(20s), silence));
    }
    const std::string old = std::string(64, 'a');
    REQUIRE(::symlink("7e57ab1e-0000-4000-8000-000000000000", (node.place().pins() + "/5." + old).c_str()) == 0);
    REQUIRE(::symlink("7e57ab1e-0000-4000-8000-000000000000", (node.place().pins() + "/8." + what.sha256).c_str()) ==
            0);
    node.directory.write("cache/partial/" + old, "a beginning");
    node.directory.make("cache/mounts/" + old);
    blob_cache cache(node.site, node.fetcher());
    REQUIRE(cache.recover(deadline::in(20s)));
    CHECK(node.pins() == std::vector<std::string>{"7." + what.sha256});
    CHECK(list_directory(node.place().partials()).empty());
    CHECK(list_directory(node.place().mounts()) == std::vector<std::string>{what.sha256});
    CHECK(node.mounted() == 1);
    CHECK(name_in(cache.hold(what, 8, deadline::in(20s), silence)) == "demo");
    CHECK(node.fetches == 1);
}

TEST_CASE("parts that a job waits for survive a restart", "[blobs][case:SCALE-6]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    {
        blob_cache cache(node.site, [](const blob_source&, const std::string&, deadline, const progress&) {
            return status(error{error_code::peer, "gone"});
        });
        REQUIRE_FALSE(cache.hold(what, 7, deadline::in(20s), silence));
        REQUIRE(cache.recover(deadline::in(20s)));
        CHECK(list_directory(node.place().partials()) == std::vector<std::string>{what.sha256});
        cache.release(7);
        REQUIRE(cache.recover(deadline::in(20s)));
        CHECK(list_directory(node.place().partials()).empty());
    }
}

TEST_CASE("an image that rotted on the disk is fetched anew", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 64);
    {
        blob_cache cache(node.site, node.fetcher());
        REQUIRE(cache.hold(what, 7, deadline::in(20s), silence));
    }
    REQUIRE(*unmount_image(node.place().mount(what.sha256), deadline::in(20s))); // as a reboot does
    {
        const unique_fd file(::open(node.place().blob(what.sha256).c_str(), O_RDWR | O_CLOEXEC));
        REQUIRE(::pwrite(file.get(), "rot", 3, 5000) == 3);
    }
    std::vector<std::string> said;
    blob_cache cache(node.site, node.fetcher());
    const auto held = cache.hold(what, 8, deadline::in(20s), [&](const std::string& text) { said.push_back(text); });
    CHECK(name_in(held) == "demo");
    CHECK(node.fetches == 2);
}

TEST_CASE("nothing but the image that the index names is handed out", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    auto what = node.image("demo", 64);
    const auto bytes = *read_file(node.directory.path() + "/server/" + what.sha256);
    std::string wrong;
    SECTION("other bytes") {
        auto other = bytes;
        other[3000] = static_cast<char>(other[3000] ^ 1);
        node.directory.write("server/" + what.sha256, other);
        wrong = "not what the index says";
    }
    SECTION("fewer bytes") {
        node.directory.write("server/" + what.sha256, bytes.substr(0, 5000));
        wrong = "has 5000 bytes";
    }
    SECTION("no squashfs at all") {
        what = node.serve(std::string(20000, 'x'));
        wrong = "no squashfs";
    }
    SECTION("a superblock that claims 10 GB in a file of some kB") {
        auto other = bytes;
        other.replace(40, 8, std::string("\0\xe4\x0b\x54\2\0\0\0", 8));
        what = node.serve(other);
        wrong = "10000000000 bytes";
    }
    SECTION("a superblock and nothing behind it") {
        what = node.serve(bytes.substr(0, 96) + std::string(bytes.size() - 96, '\0'));
        wrong = "cannot mount";
    }
    SECTION("an index that names no hash") {
        what.sha256 = "../../../etc/passwd";
        wrong = "an index names";
    }
    SECTION("an index that names an empty image") {
        what.bytes = 0;
        wrong = "an index names";
    }
    blob_cache cache(node.site, node.fetcher());
    const auto held = cache.hold(what, 1, deadline::in(20s), silence);
    REQUIRE_FALSE(held);
    CHECK(held.failure().code == error_code::peer);
    CHECK(held.failure().what.find(wrong) != std::string::npos);
    INFO(held.failure().what);
    CHECK(node.mounted() == 0);
    CHECK(node.loops() == 0);
}

TEST_CASE("an image whose file somebody still writes is copied, and only what was checked is used", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 64);
    unique_fd writer; // a download that does not end, or another process of its user
    std::string link;
    const blob_fetcher good = node.fetcher();
    blob_cache cache(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         auto fetched = good(one, to, until, say);
                         if (link.empty())
                             writer.reset(::open(to.c_str(), O_RDWR | O_CLOEXEC));
                         else
                             std::filesystem::create_hard_link(to, link);
                         return fetched;
                     });
    SECTION("open for writing") {}
    SECTION("under another name") {
        link = node.directory.path() + "/link";
    }
    CHECK(name_in(cache.hold(what, 1, deadline::in(20s), silence)) == "demo");
    if (writer)
        REQUIRE(::pwrite(writer.get(), "evil", 4, 0) == 4);
    else
        std::filesystem::permissions(link, std::filesystem::perms::all);
    struct stat info{};
    REQUIRE(::stat(node.place().blob(what.sha256).c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0444);
    CHECK(info.st_nlink == 1);
    CHECK(sha256_of(*read_file(node.place().blob(what.sha256))) == what.sha256);
    CHECK(list_directory(node.place().partials()).empty());
}
