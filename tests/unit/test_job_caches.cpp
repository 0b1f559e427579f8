// A job's directory for caches: made by the plugin, removed by the agent.
#include "service/job_caches.hpp"
#include "spank/job_cache.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>
#include <unistd.h>

using namespace amd_gpu;

namespace {

settings with_parent(const std::string& parent) {
    settings site;
    site.job_cache_directory = parent;
    return site;
}

mode_t mode_of(const std::string& path) {
    struct stat found{};
    return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777U : 0;
}

} // namespace

TEST_CASE("a job's caches lie under its number and the software's key", "[job_caches][case:ENV-1]") {
    CHECK(job_cache(with_parent("/var/cache/jobs"), 17, "abc") == "/var/cache/jobs/17/abc");
    CHECK(job_cache(with_parent(""), 17, "abc").empty());
    CHECK(job_directory_of("/var/cache/jobs/17/abc") == "/var/cache/jobs/17");
    for (const auto& change : cache_edits("/c/17/abc")) {
        CHECK(change.what == edit::kind::fallback);
        CHECK(change.value.starts_with("/c/17/abc/"));
        CHECK(applied(change, "/mine") == "/mine");
        CHECK(may_edit(change.name));
    }
}

TEST_CASE("tasks that make the same caches at once all succeed", "[job_caches][case:ENV-2]") {
    const temporary_directory at;
    const auto directory = at.path() + "/17";
    for (int task = 0; task < 3; ++task) {
        REQUIRE(make_job_directory(directory, ::geteuid(), ::getegid()));
        REQUIRE(make_caches(directory + "/key"));
    }
    CHECK(mode_of(directory) == 0700);
    for (const auto& change : cache_edits(directory + "/key"))
        CHECK(mode_of(change.value) == 0700);
}

TEST_CASE("what is in the place of a job's directory is not taken for it", "[job_caches][case:ENV-2]") {
    const temporary_directory at;
    at.make("real");
    std::filesystem::create_symlink(at.path() + "/real", at.path() + "/link");
    at.write("file", "");
    CHECK_FALSE(make_job_directory(at.path() + "/link", ::geteuid(), ::getegid()));
    CHECK_FALSE(make_job_directory(at.path() + "/file", ::geteuid(), ::getegid()));
    CHECK_FALSE(make_job_directory(at.path() + "/none/17", ::geteuid(), ::getegid()));
    if (::geteuid() != 0)
        return;
    at.make("others");
    REQUIRE(::chown((at.path() + "/others").c_str(), 4001, 4001) == 0);
    CHECK_FALSE(make_job_directory(at.path() + "/others", 4000, 4000));
    REQUIRE(make_job_directory(at.path() + "/17", 4000, 4000));
    REQUIRE(make_job_directory(at.path() + "/17", 4000, 4000));
    struct stat found{};
    REQUIRE(::stat((at.path() + "/17").c_str(), &found) == 0);
    CHECK(found.st_uid == 4000);
}

TEST_CASE("the parent of all caches lets nobody look around", "[job_caches]") {
    const temporary_directory at;
    const auto site = with_parent(at.path() + "/a/b");
    REQUIRE(make_job_cache_parent(site));
    CHECK(mode_of(at.path() + "/a/b") == 0711);
    REQUIRE(make_job_cache_parent(site));
    CHECK(make_job_cache_parent(with_parent("")));
    std::filesystem::create_symlink("/tmp", at.path() + "/link");
    CHECK_FALSE(make_job_cache_parent(with_parent(at.path() + "/link")));
}

TEST_CASE("only directories of jobs that are gone are removed", "[job_caches]") {
    const temporary_directory at;
    const auto site = with_parent(at.path());
    for (const char* name : {"1", "2", "007", "notes", "99999999999"})
        at.make(name);
    CHECK(remove_job_cache(site, 3, deadline::in(std::chrono::seconds(5))));
    remove_old_job_caches(site, [](uint32_t job) { return job == 2; }, deadline::in(std::chrono::seconds(5)));
    CHECK_FALSE(std::filesystem::exists(at.path() + "/1"));
    for (const char* name : {"2", "007", "notes", "99999999999"})
        CHECK(std::filesystem::exists(at.path() + "/" + name));
    CHECK_FALSE(has_step_daemon(4294967295U));
}
