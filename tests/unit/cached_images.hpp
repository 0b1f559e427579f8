// A cache of images in a directory of its own, real squashfs images, and a server that is a function. Everything that
// was mounted is unmounted when the test ends.
#pragma once

#include "configuration/settings.hpp"
#include "environment/blob_cache.hpp"
#include "environment/blob_mount.hpp"
#include "environment/blob_place.hpp"
#include "system/files.hpp"
#include "system/process.hpp"
#include "system/sha256.hpp"
#include "temporary_directory.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sys/mount.h>
#include <unistd.h>

namespace amd_gpu {

/// What a test says to nobody.
inline const progress silence = [](const std::string&) {};

/// Whether this test can mount anything; says so when it cannot.
inline bool root() {
    if (::geteuid() == 0)
        return true;
    WARN("needs root");
    return false;
}

/// Makes a squashfs image of a directory. Throws when mksquashfs does not.
inline void make_image(const std::string& directory, const std::string& image) {
    command what;
    what.arguments = {"/usr/bin/mksquashfs", directory, image, "-quiet", "-no-progress", "-noappend", "-all-root"};
    const auto ended = run(what, deadline::in(std::chrono::seconds(30)));
    if (!ended || !ended->succeeded())
        throw std::runtime_error("mksquashfs: " + (ended ? ended->text() + ended->diagnostics : ended.failure().what));
}

class image_fixture {
  public:
    image_fixture() { site.cache_directory = directory.path() + "/cache"; }
    image_fixture(const image_fixture&) = delete;
    image_fixture& operator=(const image_fixture&) = delete;
    ~image_fixture() {
        const auto mounts = read_file("/proc/self/mountinfo", 1U << 24);
        for (const mount_entry& one : mounts_in(mounts ? *mounts : "", site.cache_directory + "/mounts"))
            ::umount2(one.directory.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
    }

    /// An image that holds a file "name" with this text, and so many kilobytes that cannot be compressed.
    blob_source image(const std::string& name, std::size_t kilobytes = 0) {
        const std::string tree = directory.make("tree-" + name);
        std::ofstream(tree + "/name") << name;
        if (kilobytes != 0) {
            std::ifstream random("/dev/urandom", std::ios::binary);
            std::string bytes(kilobytes << 10, '\0');
            random.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
            std::ofstream(tree + "/noise", std::ios::binary) << bytes;
        }
        make_image(tree, directory.path() + "/" + name + ".sqfs");
        return serve(*read_file(directory.path() + "/" + name + ".sqfs", 1U << 28));
    }

    /// The server has these bytes.
    blob_source serve(const std::string& bytes) {
        blob_source what{sha256_of(bytes), bytes.size(), {}};
        directory.write("server/" + what.sha256, bytes);
        return what;
    }

    /// Gives what the server has, and counts.
    blob_fetcher fetcher() {
        return [this](const blob_source& what, const std::string& partial, deadline, const progress& say) -> status {
            ++fetches;
            say("fetching from a test");
            const auto bytes = read_file(directory.path() + "/server/" + what.sha256, 1U << 28);
            if (!bytes)
                return error{error_code::not_found, "no server has it"};
            const auto have = std::filesystem::file_size(partial);
            std::ofstream to(partial, std::ios::binary | std::ios::app);
            to.write(bytes->data() + have, static_cast<std::streamsize>(bytes->size() - have));
            to.flush();
            if (!to)
                return error{error_code::internal, "No space left on device"};
            return success();
        };
    }

    [[nodiscard]] blob_place place() const { return {site.cache_directory}; }
    /// How many mounts there are in the cache.
    [[nodiscard]] std::size_t mounted() const {
        const auto mounts = read_file("/proc/self/mountinfo", 1U << 24);
        return mounts_in(mounts ? *mounts : "", site.cache_directory + "/mounts").size();
    }
    /// How many loop devices have a file of the cache behind them, deleted ones included.
    [[nodiscard]] std::size_t loops() const {
        std::size_t count = 0;
        for (const std::string& name : list_directory("/sys/block"))
            if (const auto file = read_line("/sys/block/" + name + "/loop/backing_file");
                file && file->starts_with(directory.path() + "/"))
                ++count;
        return count;
    }
    [[nodiscard]] std::vector<std::string> pins() const { return list_directory(place().pins()); }

    temporary_directory directory;
    settings site;
    std::atomic<int> fetches = 0;
};

} // namespace amd_gpu
