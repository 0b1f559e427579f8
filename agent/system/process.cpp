#include "system/process.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <mutex>
#include <poll.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto grace_after_term = 200ms;
constexpr auto grace_after_kill = 2000ms;
constexpr std::size_t most_descriptors = 4;
constexpr int lowest_own = 16; // above those that a child gets

std::mutex abandoned_lock;
std::vector<pid_t> abandoned; // children that SIGKILL did not end; reaped when they go after all

struct pipe_ends {
    unique_fd read;
    unique_fd write;
};

result<pipe_ends> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return system_error(errno, "pipe");
    return pipe_ends{unique_fd(ends[0]), unique_fd(ends[1])};
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> list;
    list.reserve(texts.size() + 1);
    for (const auto& text : texts)
        list.push_back(const_cast<char*>(text.c_str()));
    list.push_back(nullptr);
    return list;
}

/// Everything the child does between fork and exec; async-signal-safe calls alone. Returns only by failing, with errno;
/// `failure` then is where to tell it.
void become(const command& what, char* const* arguments, char* const* environment, int out, int err, int& failure,
            pid_t parent) {
    // Descriptors may arrive as 0..2 when the parent was started without them; move them out of the way first.
    const int high_out = ::fcntl(out, F_DUPFD_CLOEXEC, lowest_own);
    const int high_err = ::fcntl(err, F_DUPFD_CLOEXEC, lowest_own);
    const int high_failure = ::fcntl(failure, F_DUPFD_CLOEXEC, lowest_own);
    const int null = ::open("/dev/null", O_RDONLY);
    std::array<int, most_descriptors> handed{};
    for (std::size_t i = 0; i < what.descriptors.size(); ++i)
        if ((handed.at(i) = ::fcntl(what.descriptors[i], F_DUPFD_CLOEXEC, lowest_own)) < 0)
            return;
    if (high_out < 0 || high_err < 0 || high_failure < 0 || null < 0)
        return;
    failure = high_failure;
    if (::dup2(null, 0) < 0 || ::dup2(high_out, 1) < 0 || ::dup2(high_err, 2) < 0)
        return;
    ::syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
    for (std::size_t i = 0; i < what.descriptors.size(); ++i)
        if (::dup2(handed.at(i), 3 + static_cast<int>(i)) < 0) // the copy survives exec
            return;

    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGHUP, SIGCHLD})
        ::signal(number, SIG_DFL);

    if (what.as) {
        if (::setgroups(what.as->groups.size(), what.as->groups.data()) != 0)
            return;
        if (::setresgid(what.as->gid, what.as->gid, what.as->gid) != 0)
            return;
        if (::setresuid(what.as->uid, what.as->uid, what.as->uid) != 0)
            return;
    }
    // After the change of user, which clears it; and the parent may have gone in between.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        errno = ECANCELED;
        return;
    }
    ::execve(arguments[0], arguments, environment);
}

/// Collects one stream: keeps up to a limit, and cuts it into lines for the listener.
class collector {
  public:
    collector(unique_fd source, std::size_t limit, const std::function<void(std::string_view)>* on_line)
        : source_(std::move(source))
        , limit_(limit)
        , on_line_(on_line) {}

    [[nodiscard]] int fd() const { return source_.get(); }

    /// Reads what is there; closes at the end of the stream.
    void drain() {
        char chunk[16384];
        const ssize_t got = ::read(source_.get(), chunk, sizeof chunk);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            return;
        if (got <= 0) {
            if (on_line_ != nullptr && !line_.empty())
                (*on_line_)(line_);
            source_.reset();
            return;
        }
        std::string_view fresh(chunk, static_cast<std::size_t>(got));
        kept_.append(fresh.substr(0, limit_ - std::min(limit_, kept_.size())));
        if (on_line_ == nullptr)
            return;
        for (auto end = fresh.find('\n'); end != std::string_view::npos; end = fresh.find('\n')) {
            line_.append(fresh.substr(0, end));
            (*on_line_)(line_);
            line_.clear();
            fresh.remove_prefix(end + 1);
        }
        if (line_.size() + fresh.size() <= limit_)
            line_.append(fresh);
    }

    std::string take() { return std::move(kept_); }

  private:
    unique_fd source_;
    std::size_t limit_;
    const std::function<void(std::string_view)>* on_line_;
    std::string kept_;
    std::string line_;
};

/// Reads both streams until both are closed, the child is gone, or the deadline passes.
void listen(collector& out, collector& err, int exit_fd, deadline until) {
    while ((out.fd() >= 0 || err.fd() >= 0) && !until.passed()) {
        std::array<pollfd, 3> watched{{{out.fd(), POLLIN, 0}, {err.fd(), POLLIN, 0}, {exit_fd, POLLIN, 0}}};
        const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(until.left().count()));
        if (ready < 0 && errno != EINTR)
            return;
        if (ready == 0)
            return;
        if (watched[0].revents != 0)
            out.drain();
        if (watched[1].revents != 0)
            err.drain();
        // A grandchild may hold the pipes open; when the child itself is gone and nothing is left to read, that is the
        // end.
        if (watched[2].revents != 0 && watched[0].revents == 0 && watched[1].revents == 0)
            return;
    }
}

/// Waits until a pipe has something (or has closed), or a pidfd says that its process has ended.
bool readable(int fd, deadline until) {
    for (;;) {
        pollfd watched{fd, POLLIN, 0};
        const int ready = ::poll(&watched, 1, static_cast<int>(until.left().count()));
        if (ready > 0)
            return true;
        if (ready == 0)
            return false;
        if (errno != EINTR)
            return false;
    }
}

std::string state_of(pid_t pid) {
    const std::string base = "/proc/" + std::to_string(pid);
    std::string state = "?";
    if (const auto stat = read_file(base + "/stat")) {
        // The name in parentheses may hold anything, so count from the last one.
        const auto close = stat->rfind(')');
        if (close != std::string::npos && close + 2 < stat->size())
            state = stat->substr(close + 2, 1);
    }
    const auto channel = read_line(base + "/wchan");
    return state + " " + (channel && *channel != "0" ? *channel : "(wait channel unknown)");
}

} // namespace

std::string child_result::text() const {
    switch (how) {
    case ending::exited:
        return "exited with status " + std::to_string(code);
    case ending::signalled:
        return "was killed by signal " + std::to_string(code) + " (" + std::string(::strsignal(code)) + ")";
    case ending::timed_out:
        return "ran past its deadline and was stopped";
    case ending::abandoned:
        return "survives SIGKILL (pid " + std::to_string(pid) + ", " + stuck_in + ")";
    }
    return "ended";
}

result<child_result> run(const command& what, deadline until, const std::function<void(std::string_view)>& on_line,
                         const std::function<void(std::string_view)>& on_diagnostic) {
    if (what.descriptors.size() > most_descriptors)
        return error{error_code::internal, "a child cannot get so many descriptors"};
    auto out = make_pipe();
    auto err = make_pipe();
    auto failure = make_pipe();
    if (!out)
        return out.failure();
    if (!err)
        return err.failure();
    if (!failure)
        return failure.failure();

    const auto arguments = pointers(what.arguments);
    const auto environment = pointers(what.environment);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0)
        return system_error(errno, "fork");
    if (child == 0) {
        int tell = failure->write.get();
        become(what, arguments.data(), environment.data(), out->write.get(), err->write.get(), tell, parent);
        const int reason = errno;
        // Nothing can be done when even this write fails; the parent then sees exit status 127.
        [[maybe_unused]] const ssize_t told = ::write(tell, &reason, sizeof reason);
        ::_exit(127);
    }
    ::setpgid(child, child); // in both processes, so that neither order of running leaves a gap
    out->write.reset();
    err->write.reset();
    failure->write.reset();

    // The pipe closes at exec, or tells why there was none. An exec from a dead file system may hang, hence the limit.
    int reason = 0;
    if (readable(failure->read.get(), until) &&
        ::read(failure->read.get(), &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason)) {
        ::waitpid(child, nullptr, 0); // it is at _exit already: it has told us so
        return system_error(reason, what.arguments.front());
    }

    const unique_fd exit_fd(static_cast<int>(::syscall(SYS_pidfd_open, child, 0U)));
    if (!exit_fd) {
        const error problem = system_error(errno, "pidfd_open");
        ::kill(-child, SIGKILL);
        const std::lock_guard hold(abandoned_lock);
        abandoned.push_back(child);
        return problem;
    }

    collector standard_output(std::move(out->read), what.output_limit, on_line ? &on_line : nullptr);
    collector standard_error(std::move(err->read), what.output_limit, on_diagnostic ? &on_diagnostic : nullptr);
    listen(standard_output, standard_error, exit_fd.get(), until);

    child_result ended;
    ended.pid = child;
    bool gone = readable(exit_fd.get(), until);
    if (!gone) {
        ended.how = child_result::ending::timed_out;
        ::kill(-child, SIGTERM);
        gone = readable(exit_fd.get(), deadline::in(grace_after_term));
    }
    ::kill(-child, SIGKILL); // also whatever the child left behind in its group
    if (!gone)
        gone = readable(exit_fd.get(), deadline::in(grace_after_kill));
    ended.output = standard_output.take();
    ended.diagnostics = standard_error.take();
    if (!gone) {
        ended.how = child_result::ending::abandoned;
        ended.stuck_in = state_of(child);
        const std::lock_guard hold(abandoned_lock);
        abandoned.push_back(child);
        return ended;
    }
    int wait_status = 0;
    ::waitpid(child, &wait_status, 0); // pidfd says that it has ended: this returns at once
    if (ended.how == child_result::ending::timed_out)
        return ended;
    if (WIFSIGNALED(wait_status)) {
        ended.how = child_result::ending::signalled;
        ended.code = WTERMSIG(wait_status);
    } else {
        ended.code = WEXITSTATUS(wait_status);
    }
    return ended;
}

std::string child_result::last_words() const {
    const std::string_view said = trimmed(diagnostics);
    return std::string(said.substr(said.rfind('\n') + 1, 200));
}

std::vector<std::string> abandoned_children() {
    const std::lock_guard hold(abandoned_lock);
    std::erase_if(abandoned, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    std::vector<std::string> texts;
    texts.reserve(abandoned.size());
    for (const pid_t pid : abandoned)
        texts.push_back(std::to_string(pid) + " " + state_of(pid));
    return texts;
}

result<account> account_of(uid_t user) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (const int problem = ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found); problem != 0)
        return system_error(problem, "looking up uid " + std::to_string(user));
    if (found == nullptr)
        return error{error_code::not_found, "there is no user with uid " + std::to_string(user)};
    return account{found->pw_name, found->pw_dir};
}

result<identity> identity_of(const std::string& user) {
    std::array<char, 16384> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    const int problem = ::getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
    if (problem != 0)
        return system_error(problem, "user " + user);
    if (found == nullptr)
        return error{error_code::not_found, "there is no user \"" + user + "\""};
    identity who{found->pw_uid, found->pw_gid, {}};
    int count = 64;
    who.groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user.c_str(), found->pw_gid, who.groups.data(), &count) < 0) {
        who.groups.resize(static_cast<std::size_t>(count));
        if (::getgrouplist(user.c_str(), found->pw_gid, who.groups.data(), &count) < 0)
            return error{error_code::internal, "the groups of user \"" + user + "\" keep changing"};
    }
    who.groups.resize(static_cast<std::size_t>(count));
    return who;
}

result<std::optional<identity>> unprivileged(const std::string& setting, const std::string& user,
                                             const std::string& why_not) {
    if (::geteuid() != 0)
        return std::optional<identity>();
    auto found = identity_of(user);
    if (!found)
        return error{error_code::configuration, setting + ": " + found.failure().what};
    if (found->uid == 0)
        return error{error_code::configuration, setting + ": " + why_not};
    return std::optional(std::move(*found));
}

} // namespace amd_gpu
