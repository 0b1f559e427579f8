// Software put where it must lie, in a mount namespace of the task's own. Needs root, as slurmstepd has it.
#include "spank/mounts.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <cerrno>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace amd_gpu;

namespace {

/// What a process of its own finds, as its exit status.
template<typename F>
int in_child(F look) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(look());
    int ended = 0;
    ::waitpid(child, &ended, 0);
    return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

} // namespace

TEST_CASE("a task sees software at its fixed place, read-only, and the node does not", "[mounts][case:ENV-7]") {
    if (::geteuid() != 0)
        return;
    const temporary_directory at;
    at.write("source/file", "x");
    at.make("target");
    const std::string seen = at.path() + "/target/file";
    const int found = in_child([&] {
        if (!mount_for_task({{at.path() + "/source", at.path() + "/target"}}))
            return 1;
        if (::access(seen.c_str(), R_OK) != 0)
            return 2;
        return ::open(seen.c_str(), O_WRONLY) < 0 && errno == EROFS ? 0 : 3;
    });
    CHECK(found == 0);
    CHECK_FALSE(std::filesystem::exists(seen));
    CHECK(::open((at.path() + "/source/file").c_str(), O_WRONLY | O_CLOEXEC) >= 0);
}

TEST_CASE("a fixed place that does not exist is told by name", "[mounts]") {
    const temporary_directory at;
    const auto done = mount_for_task({{at.path(), at.path() + "/nowhere"}});
    REQUIRE_FALSE(done);
    CHECK(done.failure().what.find("/nowhere") != std::string::npos);
    CHECK(mount_for_task({}));
}
