#include "spank/bounded.hpp"

#include "system/deadline.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr std::size_t most_output = 4UL << 20;
constexpr int first_free = 3; // behind standard input, output and error

/// The grandchild: nothing of slurmstepd's stays open in it, or the step would not end before it.
[[noreturn]] void be_bounded(int out, const std::function<void()>& body) {
    const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0 || ::dup2(out, 1) < 0 || ::dup2(1, 2) < 0 || ::dup2(null, 0) < 0)
        ::_exit(1);
    // Linux before 5.9 has no close_range; slurmstepd has few descriptors.
    if (::syscall(SYS_close_range, static_cast<unsigned>(first_free), ~0U, 0U) != 0)
        for (int fd = first_free; fd < 1024; ++fd)
            ::close(fd);
    for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD})
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    try {
        body();
    } catch (...) { // no memory: as good as no answer
        ::_exit(1);
    }
    ::_exit(0);
}

/// Reads until the other side closes; false when it is too slow.
bool read_to_end(int fd, deadline until, std::string& text) {
    std::array<char, 16384> chunk{};
    for (;;) {
        pollfd watched{fd, POLLIN, 0};
        const int ready = ::poll(&watched, 1, static_cast<int>(until.left().count()));
        if (ready == 0 || (ready < 0 && errno != EINTR))
            return false;
        if (ready < 0)
            continue;
        const ssize_t got = ::read(fd, chunk.data(), chunk.size());
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return got == 0;
        if (text.size() < most_output)
            text.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

} // namespace

std::optional<std::string> run_bounded(std::chrono::milliseconds limit, const std::function<void()>& body) {
    const auto until = deadline::in(limit);
    std::array<int, 2> output{};
    std::array<int, 2> name{};
    if (::pipe2(output.data(), O_CLOEXEC) != 0)
        return std::nullopt;
    if (::pipe2(name.data(), O_CLOEXEC) != 0) {
        ::close(output[0]);
        ::close(output[1]);
        return std::nullopt;
    }
    const pid_t between = ::fork();
    if (between == 0) {
        const pid_t worker = ::fork();
        if (worker == 0)
            be_bounded(output[1], body);
        ::_exit(::write(name[1], &worker, sizeof worker) == sizeof worker ? 0 : 1);
    }
    ::close(output[1]);
    ::close(name[1]);
    pid_t worker = -1;
    if (between > 0) {
        while (::waitpid(between, nullptr, 0) < 0 && errno == EINTR) { // it does nothing that could take time
        }
        if (::read(name[0], &worker, sizeof worker) != sizeof worker)
            worker = -1;
    }
    std::string text;
    const bool whole = worker > 0 && read_to_end(output[0], until, text);
    if (worker > 0 && !whole)
        ::kill(worker, SIGKILL);
    ::close(output[0]);
    ::close(name[0]);
    return whole ? std::optional(std::move(text)) : std::nullopt;
}

void write_out(const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t more = ::write(1, text.data() + done, text.size() - done);
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return;
        done += static_cast<std::size_t>(more);
    }
}

} // namespace amd_gpu
