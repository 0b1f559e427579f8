// An agent that is killed at any moment leaves nothing behind that a later one could hand out wrongly, and nothing that
// stays for ever. These tests need root.
#include "cached_images.hpp"
#include "environment/blob_pins.hpp"
#include "use_images.hpp"

#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <random>
#include <sys/wait.h>
#include <thread>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t image_kilobytes = 600;

/// A server that sends small pieces, so that death finds it in the middle.
blob_fetcher slow_server(const std::string& directory) {
    return [directory](const blob_source& what, const std::string& partial, deadline, const progress&) -> status {
        const auto bytes = read_file(directory + "/server/" + what.sha256, 1U << 28);
        const unique_fd to(::open(partial.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
        if (!bytes || !to)
            return error{error_code::not_found, "no server has it"};
        for (auto at = std::filesystem::file_size(partial); at < bytes->size();) {
            const auto sent = ::write(to.get(), bytes->data() + at, std::min<std::size_t>(4096, bytes->size() - at));
            if (sent < 0)
                return system_error(errno, partial);
            at += static_cast<std::size_t>(sent);
        }
        return success();
    };
}

/// The settings and images of the test whose directory this is.
settings site_of(const std::string& directory) {
    settings site;
    site.cache_directory = directory + "/cache";
    site.cache_limit = (image_kilobytes + 100) << 10;
    site.scontrol = directory + "/scontrol"; // every job is over
    return site;
}

std::vector<blob_source> images_of(const std::string& directory) {
    std::vector<blob_source> images;
    for (const std::string& name : list_directory(directory + "/server"))
        images.push_back({name, std::filesystem::file_size(directory + "/server/" + name), {}});
    return images;
}

/// What is wrong with an image that was handed out; empty when it is the one that was asked for.
std::string wrong_with(const std::string& directory, const blob_source& what, const result<std::string>& held) {
    if (!held)
        return held.failure().what;
    const auto name = read_line(*held + "/name");
    const auto noise = read_file(*held + "/noise", 1U << 28);
    if (!name || !noise)
        return "it cannot be read";
    if (*noise != *read_file(directory + "/tree-" + *name + "/noise", 1U << 28))
        return "its files are wrong";
    if (sha256_of(*read_file(blob_place{directory + "/cache"}.blob(what.sha256), 1U << 28)) != what.sha256)
        return "its image is wrong";
    return {};
}

void kill_and_recover(int rounds) {
    if (!root())
        return;
    image_fixture node;
    const std::string directory = node.directory.path();
    const std::string names[] = {"first", "second"};
    for (const auto& name : names)
        node.image(name, image_kilobytes);
    node.directory.write("scontrol", "#!/bin/sh\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n");
    std::filesystem::permissions(directory + "/scontrol", std::filesystem::perms(0755));
    node.site = site_of(directory);
    const auto images = images_of(directory);
    REQUIRE(images.size() == 2);

    std::mt19937 random(std::random_device{}()); // which moment does not matter: all must do
    for (int round = 0; round < rounds; ++round) {
        const auto moment = std::chrono::milliseconds(random() % 400);
        INFO("round " << round << ", killed after " << moment.count() << " ms");
        const pid_t agent = ::fork();
        REQUIRE(agent >= 0);
        if (agent == 0) {
            ::execl("/proc/self/exe", "unit", "use-images", directory.c_str(), nullptr);
            ::_exit(127);
        }
        std::this_thread::sleep_for(moment);
        ::kill(agent, SIGKILL);
        int ended = 0;
        REQUIRE(::waitpid(agent, &ended, 0) == agent);
        REQUIRE(WIFSIGNALED(ended));
        REQUIRE(WTERMSIG(ended) == SIGKILL);

        blob_cache cache(node.site, slow_server(directory));
        REQUIRE(cache.recover(deadline::in(20s)));
        for (const blob_source& what : images) {
            const auto held = cache.hold(what, 1000, deadline::in(30s), silence);
            CHECK(wrong_with(directory, what, held) == "");
            cache.release(1000);
        }
        CHECK(node.pins().size() <= 1); // of the one that was killed, if it held the last image
        CHECK(node.mounted() == 1);     // there is room for one
        CHECK(list_directory(node.place().blobs()).size() == 1);
        CHECK(list_directory(node.place().partials()).empty());
    }
    for (const std::string& name : list_directory(node.place().mounts()))
        REQUIRE(*unmount_image(node.place().mount(name), deadline::in(20s)));
    // The kernel takes loop devices down a moment after their last use.
    const auto limit = deadline::in(10s);
    while (node.loops() != 0 && !limit.passed())
        std::this_thread::sleep_for(10ms);
    CHECK(node.loops() == 0);
}

} // namespace

int use_images(const std::string& directory) {
    const settings site = site_of(directory);
    blob_cache cache(site, slow_server(directory));
    if (const status ready = cache.recover(deadline::in(20s)); !ready)
        return 1;
    const auto images = images_of(directory);
    for (uint32_t job = 1;; ++job) {
        const blob_source& what = images[job % images.size()];
        const std::string wrong = wrong_with(directory, what, cache.hold(what, job, deadline::in(30s), silence));
        if (!wrong.empty()) {
            std::fprintf(stderr, "job %u: %s\n", job, wrong.c_str());
            return 1;
        }
        cache.release(job);
    }
}

} // namespace amd_gpu

TEST_CASE("an agent that is killed at any moment leaves a cache that works", "[blobs]") {
    amd_gpu::kill_and_recover(3);
}

TEST_CASE("an agent that is killed at any moment leaves a cache that works, many times", "[.][long]") {
    amd_gpu::kill_and_recover(20);
}
