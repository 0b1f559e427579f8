// What happens when the node's cache of images is full: on real disks that are small, with jobs that hold their images.
// These tests need root.
#include "cached_images.hpp"
#include "environment/blob_pins.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

using namespace amd_gpu;
using namespace std::chrono_literals;

namespace {

/// A cache on a disk of its own of this size.
class small_disk {
  public:
    small_disk(image_fixture& node, const std::string& options)
        : node_(node)
        , directory_(node.directory.make("cache")) {
        if (::mount("tmpfs", directory_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, ("mode=0755," + options).c_str()) != 0)
            throw std::runtime_error("cannot mount a tmpfs");
    }
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    ~small_disk() {
        for (const std::string& name : list_directory(node_.place().mounts()))
            ::umount2(node_.place().mount(name).c_str(), UMOUNT_NOFOLLOW);
        ::umount2(directory_.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
    }

  private:
    image_fixture& node_;
    std::string directory_;
};

bool is_cached(const image_fixture& node, const blob_source& what) {
    return std::filesystem::exists(node.place().blob(what.sha256));
}

/// A scontrol that knows these jobs, each with its state, and writes down what it is asked.
void fake_scontrol(image_fixture& node, const std::string& cases) {
    const std::string asked = node.directory.path() + "/asked";
    node.site.scontrol =
        node.directory.write("scontrol", "#!/bin/sh\necho \"$*\" >>" + asked + "\ncase $4 in\n" + cases +
                                             "*) echo 'slurm_load_jobs error: Invalid job id specified' "
                                             ">&2; exit 1 ;;\nesac\n");
    std::filesystem::permissions(node.site.scontrol, std::filesystem::perms(0755));
}

std::size_t times_asked(const image_fixture& node) {
    const auto lines = read_file(node.directory.path() + "/asked");
    return lines ? static_cast<std::size_t>(std::count(lines->begin(), lines->end(), '\n')) : 0;
}

} // namespace

TEST_CASE("the image that was not used for the longest time makes room, pinned ones stay", "[blobs][case:SCALE-3]") {
    if (!root())
        return;
    image_fixture node;
    const auto first = node.image("first", 100);
    const auto second = node.image("second", 100);
    const auto third = node.image("third", 100);
    const auto fourth = node.image("fourth", 100);
    node.site.cache_limit = 3 * 110 * 1024;
    fake_scontrol(node, "");
    blob_cache cache(node.site, node.fetcher());
    REQUIRE(cache.hold(first, 1, deadline::in(20s), silence));
    REQUIRE(cache.hold(second, 2, deadline::in(20s), silence));
    REQUIRE(cache.hold(third, 3, deadline::in(20s), silence));
    cache.release(2);
    cache.release(3);
    REQUIRE(cache.hold(fourth, 4, deadline::in(20s), silence));
    CHECK(is_cached(node, first));
    CHECK_FALSE(is_cached(node, second));
    CHECK(is_cached(node, third));
    CHECK(node.mounted() == 3);
    CHECK(node.loops() == 3);
    CHECK_FALSE(std::filesystem::exists(node.place().mount(second.sha256)));
    CHECK_FALSE(std::filesystem::exists(node.place().image_lock(second.sha256)));
    CHECK(times_asked(node) == 0); // a healthy launch asks no controller
}

TEST_CASE("an image in which somebody still works is not pulled away", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto first = node.image("first", 100);
    const auto second = node.image("second", 100);
    node.site.cache_limit = 150 * 1024;
    fake_scontrol(node, "");
    blob_cache cache(node.site, node.fetcher());
    const auto held = cache.hold(first, 1, deadline::in(20s), silence);
    REQUIRE(held);
    const unique_fd inside(::open((*held + "/noise").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(inside);
    cache.release(1); // but a process that was left behind has a file open
    const auto other = cache.hold(second, 2, deadline::in(20s), silence);
    REQUIRE_FALSE(other);
    CHECK(other.failure().what.find("limit is 150.0 KiB") != std::string::npos);
    CHECK(is_cached(node, first));
    CHECK(node.mounted() == 1);
}

TEST_CASE("when all is pinned the controller is asked which jobs are over", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto first = node.image("first", 100);
    const auto second = node.image("second", 100);
    node.site.cache_limit = 150 * 1024;
    blob_cache cache(node.site, node.fetcher());
    REQUIRE(cache.hold(first, 11, deadline::in(20s), silence));
    SECTION("it is over") {
        fake_scontrol(node, "11) echo 'JobId=11 JobName=a JobState=COMPLETED BatchFlag=1' ;;\n"
                            "12) echo 'JobId=12 JobName=b JobState=RUNNING BatchFlag=1' ;;\n");
        CHECK(cache.hold(second, 12, deadline::in(20s), silence));
        CHECK(node.pins() == std::vector<std::string>{"12." + second.sha256});
        CHECK(times_asked(node) == 1); // not about the job that waits
    }
    SECTION("it is forgotten") {
        fake_scontrol(node, "12) echo 'JobId=12 JobName=b JobState=RUNNING BatchFlag=1' ;;\n");
        CHECK(cache.hold(second, 12, deadline::in(20s), silence));
    }
    SECTION("it runs") {
        fake_scontrol(node, "1?) echo \"JobId=$4 JobName=a JobState=RUNNING BatchFlag=1\" ;;\n");
        const auto refused = cache.hold(second, 12, deadline::in(20s), silence);
        REQUIRE_FALSE(refused);
        CHECK(refused.failure().code == error_code::internal);
        CHECK(refused.failure().what.find("in use by jobs 11, 12") != std::string::npos);
        CHECK(is_cached(node, first));
    }
    SECTION("the controller is silent") {
        node.site.scontrol = node.directory.path() + "/no-scontrol";
        CHECK_FALSE(cache.hold(second, 12, deadline::in(20s), silence));
        CHECK(is_cached(node, first));
    }
}

TEST_CASE("an image larger than the cache is refused in words", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 200);
    node.site.cache_limit = 100 * 1024;
    fake_scontrol(node, "");
    blob_cache cache(node.site, node.fetcher());
    const auto held = cache.hold(what, 1, deadline::in(20s), silence);
    REQUIRE_FALSE(held);
    CHECK(held.failure().what.find("[cache] limit is 100.0 KiB") != std::string::npos);
    CHECK(node.fetches == 0);
}

TEST_CASE("room is looked for before anything is fetched, and a full disk is named", "[blobs][case:SCALE-3]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 3000);
    fake_scontrol(node, "");
    SECTION("bytes") {
        const small_disk disk(node, "size=2m");
        blob_cache cache(node.site, node.fetcher());
        const auto held = cache.hold(what, 1, deadline::in(20s), silence);
        REQUIRE_FALSE(held);
        CHECK(held.failure().code == error_code::internal);
        CHECK(held.failure().what.find("the disk has 2.0 MiB free") != std::string::npos);
        CHECK(held.failure().what.find(node.site.cache_directory) != std::string::npos);
        CHECK(node.fetches == 0);
    }
    SECTION("inodes") {
        const small_disk disk(node, "size=16m,nr_inodes=20");
        blob_cache cache(node.site, node.fetcher());
        const auto held = cache.hold(what, 1, deadline::in(20s), silence);
        REQUIRE_FALSE(held);
        CHECK(held.failure().what.find("inodes left") != std::string::npos);
        CHECK(node.fetches == 0);
    }
    SECTION("what is not used makes room on the disk, too") {
        const auto old = node.image("old", 3000);
        const small_disk disk(node, "size=5m");
        blob_cache cache(node.site, node.fetcher());
        REQUIRE(cache.hold(old, 1, deadline::in(20s), silence));
        cache.release(1);
        CHECK(cache.hold(what, 2, deadline::in(20s), silence));
        CHECK_FALSE(is_cached(node, old));
    }
}

TEST_CASE("nine images at once do not count on the same room", "[blobs][case:SCALE-3]") {
    if (!root())
        return;
    image_fixture node;
    std::vector<blob_source> images;
    for (int i = 0; i < 9; ++i)
        images.push_back(node.image("demo" + std::to_string(i), 1000));
    const small_disk disk(node, "size=5m");
    fake_scontrol(node, "*) echo \"JobId=$4 JobName=a JobState=RUNNING BatchFlag=1\" ;;\n");
    std::atomic<int> good = 0;
    std::atomic<int> refused = 0;
    std::atomic<int> other = 0;
    std::atomic<bool> all_decided = false;
    const blob_fetcher fetch = node.fetcher();
    blob_cache cache(
        node.site, [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
            while (!all_decided && !until.passed()) // all of them look for room before the first has used any
                std::this_thread::yield();
            return fetch(one, to, until, say);
        });
    std::vector<std::thread> jobs;
    for (uint32_t job = 0; job < 9; ++job)
        jobs.emplace_back([&, job] {
            const auto held = cache.hold(images[job], job + 1, deadline::in(60s), [&](const std::string& text) {
                if (text.starts_with("fetching") && ++good + refused == 9)
                    all_decided = true;
            });
            if (held)
                return;
            ++(held.failure().what.find("the disk has") != std::string::npos ? refused : other);
            if (good + refused + other == 9)
                all_decided = true;
        });
    for (auto& one : jobs)
        one.join();
    // Of 5 MiB one is kept free: five images of a megabyte and a little are too much.
    CHECK(node.mounted() == 4);
    CHECK(refused == 5);
    CHECK(other == 0);
    CHECK(node.fetches == 4);
}

TEST_CASE("a disk that fills up while an image comes is named, and the job's fault is not invented", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 100);
    blob_cache cache(node.site, [](const blob_source&, const std::string&, deadline, const progress&) {
        return status(error{error_code::internal, "writing what was downloaded: No space left on device"});
    });
    const auto held = cache.hold(what, 1, deadline::in(20s), silence);
    REQUIRE_FALSE(held);
    CHECK(held.failure().code == error_code::internal);
    CHECK(held.failure().what.find("No space left on device") != std::string::npos);
}

TEST_CASE("a second agent waits for the first one's fetch, or says who is in the way", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo", 100);
    std::atomic<bool> open = false;
    const blob_fetcher good = node.fetcher();
    blob_cache first(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         while (!open)
                             std::this_thread::yield();
                         return good(one, to, until, say);
                     });
    blob_cache second(node.site, node.fetcher()); // its locks are other open files, as those of another process are
    std::atomic<bool> fetching = false;
    std::thread one([&] {
        CHECK(first.hold(what, 1, deadline::in(60s), [&](const std::string& text) {
            if (text.starts_with("fetching"))
                fetching = true;
        }));
    });
    while (!fetching)
        std::this_thread::yield();
    const auto late = second.hold(what, 2, deadline::in(100ms), silence);
    REQUIRE_FALSE(late);
    CHECK(late.failure().code == error_code::timed_out);
    REQUIRE(second.recover(deadline::in(5s)));
    CHECK(list_directory(node.place().partials()).size() == 1); // is not swept away under the first one
    open = true;
    CHECK(second.hold(what, 2, deadline::in(60s), silence));
    one.join();
    CHECK(node.fetches == 1);
    CHECK(node.mounted() == 1);
}

TEST_CASE("a job that is released while its image comes has nothing", "[blobs]") {
    if (!root())
        return;
    image_fixture node;
    const auto what = node.image("demo");
    blob_cache* itself = nullptr;
    const blob_fetcher good = node.fetcher();
    blob_cache cache(node.site,
                     [&](const blob_source& one, const std::string& to, deadline until, const progress& say) {
                         itself->release(1);
                         return good(one, to, until, say);
                     });
    itself = &cache;
    const auto held = cache.hold(what, 1, deadline::in(20s), silence);
    REQUIRE_FALSE(held);
    CHECK(held.failure().what.find("was released") != std::string::npos);
    CHECK(node.pins().empty());
}
