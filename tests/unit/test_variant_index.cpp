#include "configuration/settings.hpp"
#include "environment/prune.hpp"
#include "environment/variant_index.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <filesystem>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace amd_gpu;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

const uid_t me = ::geteuid();

/// An index, and directories that its records can point to.
struct some_index {
    temporary_directory directory;
    std::string path = directory.path() + "/index";

    [[nodiscard]] variant record(const std::string& target, int64_t created, const std::string& place = "sw") const {
        variant made;
        made.environment = "hpl";
        made.provider = "command";
        made.targets = {*parse_target(target)};
        made.path = directory.make(place);
        made.created = created;
        return made;
    }
    std::string add(const variant& record) const {
        const auto file = add_to_index(path, record);
        REQUIRE(file);
        return *file;
    }
    [[nodiscard]] std::vector<index_entry> read(const std::string& environment = "hpl", uid_t owner = me) const {
        const auto entries = read_index(path, environment, owner);
        REQUIRE(entries);
        return *entries;
    }
    /// What a job of the site could be given, when its definition names that provider.
    [[nodiscard]] std::vector<variant_candidate> offered(const std::string& provider) const {
        settings site;
        site.index = path;
        environment of;
        of.name = "hpl";
        of.provider = provider;
        const auto variants = indexed_variants(site, of);
        REQUIRE(variants);
        return *variants;
    }
    /// What is wrong with the only entry.
    [[nodiscard]] std::string problem() const {
        const auto entries = read();
        REQUIRE(entries.size() == 1);
        CHECK(candidates_of(entries).empty());
        return entries.front().problem;
    }
};

} // namespace

TEST_CASE("an index that does not exist holds nothing", "[index]") {
    const some_index index;
    CHECK(index.read().empty());
    CHECK(index.read("").empty());
}

TEST_CASE("of each set of targets the newest record counts", "[index]") {
    const some_index index;
    const auto old_file = index.add(index.record("gfx90a", 100, "old"));
    const auto new_file = index.add(index.record("gfx90a", 200, "new"));
    const auto other = index.add(index.record("gfx942", 50));
    const auto entries = index.read();
    REQUIRE(entries.size() == 3);
    CHECK(entries[0].file == new_file);
    CHECK_FALSE(entries[0].superseded);
    CHECK(entries[1].file == old_file);
    CHECK(entries[1].superseded);
    CHECK(entries[2].file == other);
    CHECK(candidates_of(entries).size() == 2);
    CHECK(index.read("").size() == 3);
    CHECK(index.read("other").empty());
}

TEST_CASE("a variant that servers have does not replace one for the same targets", "[index]") {
    const some_index index;
    auto had = index.record("gfx90a", 300, "had");
    had.substitutable = true;
    index.add(had);
    index.add(index.record("gfx90a", 200));
    CHECK(candidates_of(index.read()).size() == 2);
}

TEST_CASE("two variants never share a record's file", "[index]") {
    const some_index index;
    CHECK(record_name(index.record("gfx90a", 1, "a")) != record_name(index.record("gfx90a", 1, "b")));
    CHECK(record_name(index.record("gfx90a", 1)) != record_name(index.record("gfx90a:xnack+", 1)));
    variant many = index.record("gfx90a", 1);
    many.targets.clear();
    for (const char* name : {"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100"})
        for (const char* mode : {"", ":xnack+", ":xnack-"})
            if (const auto target = parse_target(std::string(name) + mode))
                many.targets.push_back(*target);
    CHECK(record_name(many).size() < 200);
}

TEST_CASE("a record that a stranger could have written counts for nothing", "[index]") {
    const some_index index;
    const auto file = index.add(index.record("gfx90a", 1));
    SECTION("another's") {
        if (me != 0)
            return; // only root gives files away
        REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
        CHECK_THAT(index.problem(), Contains("belongs to uid 12345"));
        // That user's own index may hold it, and root's word counts for everyone.
        CHECK_THAT(index.read("hpl", 12345).front().problem, Contains(""));
        CHECK(candidates_of(index.read("hpl", 12345)).size() == 1);
    }
    SECTION("writable by a group") {
        REQUIRE(::chmod(file.c_str(), 0664) == 0);
        CHECK_THAT(index.problem(), Contains("may be written by others"));
    }
    SECTION("in a directory that anybody may write") {
        REQUIRE(::chmod((index.path + "/v1/hpl").c_str(), 0777) == 0);
        const auto read = read_index(index.path, "hpl", me);
        REQUIRE_FALSE(read);
        CHECK_THAT(read.failure().what, Contains("may be written by others"));
    }
    SECTION("a link to a good one") {
        const std::string moved = index.directory.path() + "/elsewhere.json";
        fs::rename(file, moved);
        fs::create_symlink(moved, file);
        CHECK_THAT(index.problem(), Contains("symbolic link"));
    }
    SECTION("a pipe, which is not waited for") {
        fs::remove(file);
        REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
        CHECK_THAT(index.problem(), Contains("no regular file"));
    }
    SECTION("under another environment's name") {
        fs::create_directories(index.path + "/v1/other");
        fs::copy_file(file, index.path + "/v1/other/x.json");
        const auto entries = index.read("other");
        REQUIRE(entries.size() == 1);
        CHECK_THAT(entries.front().problem, Contains("is a variant of hpl"));
    }
    SECTION("cut off") {
        fs::resize_file(file, 20);
        CHECK_THAT(index.problem(), Contains("no JSON object"));
    }
    SECTION("larger than any record") {
        fs::resize_file(file, 10UL << 30); // sparse
        CHECK_THAT(index.problem(), Contains("longer than"));
    }
}

TEST_CASE("half a record that a writer left behind is not seen", "[index]") {
    const some_index index;
    index.add(index.record("gfx90a", 1));
    index.directory.write("index/v1/hpl/.half.json", "{");
    index.directory.write("index/v1/hpl/notes.txt", "hello");
    CHECK(index.read().size() == 1);
}

TEST_CASE("a variant whose files are gone is not given to jobs", "[index]") {
    const some_index index;
    const variant record = index.record("gfx90a", 1);
    index.add(record);
    CHECK(index.offered("command").front().unusable.empty());
    fs::remove(record.path);
    CHECK_THAT(index.offered("command").front().unusable, Contains("is gone"));

    // What `guix package --search-paths` says of a profile that was collected as garbage is nothing at all.
    variant profile = index.record("gfx942", 1, "profile");
    profile.kept = storage::store;
    CHECK_THAT(place_problem(profile), Contains("has no manifest"));
    index.directory.write("profile/manifest", "(manifest)");
    CHECK(place_problem(profile).empty());
}

TEST_CASE("a record of the site's index that names an image is used by no other provider", "[index]") {
    const some_index index;
    variant record = index.record("gfx90a", 1);
    record.kept = storage::blob;
    record.blob = std::string(64, 'a');
    record.blob_bytes = 1;
    record.path.clear();
    index.add(record);
    REQUIRE(index.offered("command").size() == 1);
    CHECK_THAT(index.offered("command").front().unusable, Contains("bundle"));
    CHECK(index.offered("guix").empty());
}

TEST_CASE("pruning takes nothing from under a job", "[index][prune]") {
    const some_index index;
    variant first = index.record("gfx90a", 100, "old");
    first.provenance["root"] = "first-root";
    const auto old_file = index.add(first);
    const auto new_file = index.add(index.record("gfx90a", 200, "new"));
    const auto root = index.directory.write("index/roots/first-root", "");
    const auto month = std::chrono::hours(24 * 30);
    const auto now = std::time(nullptr);

    const auto dry = prune_index(index.path, "", me, month, now, /*dry_run=*/true);
    REQUIRE(dry);
    CHECK(dry->retired == std::vector<std::string>{old_file});
    CHECK(index.read().size() == 2);

    const auto retired = prune_index(index.path, "", me, month, now, false);
    REQUIRE(retired);
    CHECK(retired->retired == std::vector<std::string>{old_file});
    CHECK(retired->deleted.empty());
    REQUIRE(index.read().size() == 1);
    CHECK(index.read().front().file == new_file);
    CHECK(fs::exists(root));

    const auto early = prune_index(index.path, "", me, month, now + 29 * 86400, false);
    REQUIRE(early);
    CHECK(early->deleted.empty());
    const auto late = prune_index(index.path, "", me, month, now + 31 * 86400, false);
    REQUIRE(late);
    CHECK(late->deleted.size() == 1);
    CHECK_FALSE(fs::exists(root));
    CHECK(late->released == std::vector<variant>{first});
    CHECK(index.read().size() == 1);
}

TEST_CASE("files that another record names are not released", "[index][prune]") {
    const some_index index;
    index.add(index.record("gfx90a", 100));
    variant again = index.record("gfx90a", 200); // the same place, made anew
    again.digest = std::string(64, 'a');
    index.add(again);
    const auto now = std::time(nullptr);
    REQUIRE(prune_index(index.path, "", me, std::chrono::seconds(0), now - 10, false));
    const auto late = prune_index(index.path, "", me, std::chrono::seconds(0), now + 10, false);
    REQUIRE(late);
    CHECK(late->deleted.size() == 1);
    CHECK(late->released.empty());
}

TEST_CASE("a retired record cannot make pruning remove something else", "[index][prune]") {
    const some_index index;
    variant bad = index.record("gfx90a", 100, "old");
    bad.provenance["root"] = "../precious";
    index.add(bad);
    index.add(index.record("gfx90a", 200));
    const auto precious = index.directory.write("index/precious", "");
    const auto now = std::time(nullptr);
    REQUIRE(prune_index(index.path, "", me, std::chrono::seconds(0), now, false));
    REQUIRE(prune_index(index.path, "", me, std::chrono::seconds(0), now + 10, false));
    CHECK(fs::exists(precious));
}

TEST_CASE("a user's index lies where the site says", "[index]") {
    settings site;
    site.user_index = "{home}/.local/variants-{user}";
    const auto place = user_index_of(site, 0);
    REQUIRE(place);
    CHECK(*place == std::string(::getpwuid(0)->pw_dir) + "/.local/variants-root");
    site.user_index.clear();
    REQUIRE_FALSE(user_index_of(site, 0));
    CHECK(user_index_of(site, 0).failure().code == error_code::usage);
    site.user_index = "/x";
    CHECK_FALSE(user_index_of(site, 4242424));
}
