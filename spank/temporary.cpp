#include "spank/temporary.hpp"

#include <cstdio>
#include <cstdlib>
#include <linux/magic.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr uint64_t too_little = 16ULL << 20; // one compiled kernel of a large library takes some MB

} // namespace

directory_facts look_at_directory(const std::string& path) {
    directory_facts facts;
    struct stat found{};
    struct statfs system{};
    struct statvfs flags{};
    facts.exists = ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
    if (!facts.exists || ::statfs(path.c_str(), &system) != 0 || ::statvfs(path.c_str(), &flags) != 0)
        return facts;
    facts.writable = ::access(path.c_str(), W_OK | X_OK) == 0;
    facts.executable = (flags.f_flag & ST_NOEXEC) == 0;
    // /tmp is a tmpfs on many nodes and large; /dev/shm is where the ranks' own shared memory must fit in.
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    const std::string_view place = real ? real.get() : "";
    facts.in_memory = system.f_type == TMPFS_MAGIC && (place == "/dev/shm" || place.starts_with("/dev/shm/"));
    facts.free_bytes = static_cast<uint64_t>(flags.f_bavail) * flags.f_frsize;
    return facts;
}

std::string to_text(const directory_facts& facts) {
    std::string text;
    for (const bool fact : {facts.exists, facts.writable, facts.executable, facts.in_memory})
        text += fact ? '1' : '0';
    return text + " " + std::to_string(facts.free_bytes);
}

std::optional<directory_facts> parse_directory_facts(const std::string& text) {
    int exists = 0;
    int writable = 0;
    int executable = 0;
    int in_memory = 0;
    unsigned long long free_bytes = 0;
    if (std::sscanf(text.c_str(), "%1d%1d%1d%1d %llu", &exists, &writable, &executable, &in_memory, &free_bytes) != 5)
        return std::nullopt;
    return directory_facts{exists != 0, writable != 0, executable != 0, in_memory != 0, free_bytes};
}

std::string temporary_hint(const std::string& path, const directory_facts& facts) {
    const std::string start = "TMPDIR=" + path + " ";
    if (!facts.exists)
        return start + "is no directory on this node, so programs that need one fail";
    if (!facts.writable)
        return start + "cannot be written to by this user, so programs that need it fail";
    if (facts.in_memory)
        return start + "is in the memory for the ranks' messages, and GPU runtimes run out of it; use a disk or /tmp";
    if (!facts.executable)
        return start + "is mounted noexec, so code that is compiled there cannot be loaded";
    if (facts.free_bytes < too_little)
        return start + "has only " + std::to_string(facts.free_bytes >> 10) + " KiB left";
    return {};
}

} // namespace amd_gpu
