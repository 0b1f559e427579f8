#include "service/server.hpp"

#include "node/json.hpp"
#include "service/client.hpp"
#include "service/slots.hpp"
#include "system/files.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <future>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syslog.h>
#include <sys/un.h>
#include <system_error>
#include <systemd/sd-daemon.h>
#include <thread>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto progress_every = 2000ms;
constexpr auto request_limit = 5000ms; // a connected asker that says nothing
constexpr auto last_words = 5000ms;
constexpr auto discovery_limit = 10000ms;
constexpr int backlog = 128;
constexpr unsigned most_connections = 256;
constexpr unsigned most_of_one_user = 128; // so that the others' jobs always find the agent free

slots user_connections(most_of_one_user);

std::atomic<unsigned> connections = 0;

/// Only root may ask, and whoever runs the agent (which is root, but for a trial run by hand).
bool may_ask(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return false;
    return peer.uid == 0 || peer.uid == ::geteuid();
}

message refusal(const error& failure) {
    message reply("refused");
    reply.add("version", std::to_string(protocol_version)).add("message", failure.what);
    return reply;
}

/// Makes a preparation while telling the asker that work goes on. An asker that goes away does not stop the work: a
/// step of the same job will ask again.
message prepare(int socket, preparations& jobs, const preparation_request& request) {
    const auto slot = user_connections.take(request.uid, deadline::in(0ms));
    if (!slot) {
        preparation_reply busy;
        busy.how = outcome::job_fault;
        busy.message = fmt::format("{} steps of yours are being prepared on this node already; start fewer at once",
                                   most_of_one_user);
        return to_message(busy);
    }
    std::mutex lock;
    std::string now_doing;
    auto work = std::async(std::launch::async, [&] {
        return jobs.answer(request, [&](const std::string& text) {
            const std::lock_guard hold(lock);
            now_doing = text;
        });
    });
    while (work.wait_for(progress_every) != std::future_status::ready) {
        message progress("progress");
        {
            const std::lock_guard hold(lock);
            progress.add("text", now_doing);
        }
        // A failure to send shows again when the answer is sent.
        [[maybe_unused]] const auto sent = send_message(socket, progress, deadline::in(request_limit));
    }
    return to_message(work.get());
}

message answer(int socket, preparations& jobs, const message& asked) {
    const auto kind = asked.text("kind");
    if (kind == "prepare") {
        const auto request = to_request(asked);
        return request ? prepare(socket, jobs, *request) : refusal(request.failure());
    }
    if (kind == "release") {
        const auto job = asked.number("job");
        if (!job || *job > UINT32_MAX)
            return refusal({error_code::peer, "release needs a job"});
        const auto step = asked.number("step");
        if (step && *step <= UINT32_MAX)
            jobs.release_step(static_cast<uint32_t>(*job), static_cast<uint32_t>(*step));
        else
            jobs.release(static_cast<uint32_t>(*job));
        return message("released");
    }
    if (kind == "status") {
        message reply("status");
        reply.add("json", jobs.status_json());
        return reply;
    }
    if (kind == "discover") {
        const auto found = jobs.work().here(deadline::in(discovery_limit));
        return found ? message("discover").add("json", json_text(**found, true)) : refusal(found.failure());
    }
    return refusal({error_code::peer, fmt::format("this agent does not know requests of kind \"{:.40}\"", kind)});
}

/// One connection, one request, one answer.
void converse_on(const unique_fd& socket, preparations& jobs) {
    const auto asked = receive_message(socket.get(), deadline::in(request_limit));
    const message reply = !asked                   ? refusal(asked.failure())
                          : !may_ask(socket.get()) ? refusal({error_code::permission, "only root may ask the agent"})
                                                   : answer(socket.get(), jobs, *asked);
    if (const auto sent = send_message(socket.get(), reply, deadline::in(request_limit)); !sent)
        ::syslog(LOG_NOTICE, "an answer could not be delivered: %s", sent.failure().what.c_str());
}

/// The same for a thread of its own, which no exception may leave: the daemon would end, and all it remembers with it.
void converse(const unique_fd& socket, preparations& jobs) noexcept {
    try {
        converse_on(socket, jobs);
    } catch (const std::exception& problem) { // no memory, no threads
        ::syslog(LOG_ERR, "a request could not be answered: %s", problem.what());
    }
    --connections;
}

/// Starts the thread for a connection. A machine that has no thread left drops the asker, who will say so.
void begin(unique_fd socket, preparations& jobs) {
    ++connections;
    try {
        std::thread([socket = std::move(socket), &jobs] { converse(socket, jobs); }).detach();
    } catch (const std::system_error& problem) {
        --connections;
        ::syslog(LOG_ERR, "no thread for a request: %s", problem.what());
    }
}

/// A file that nobody listens behind is left over from an agent that was killed.
bool is_alive(const std::string& path) {
    const auto reply = ask(path, message("status"), deadline::in(2000ms));
    return reply || reply.failure().code != error_code::not_found;
}

} // namespace

listener::~listener() {
    if (socket && !own_path.empty())
        ::unlink(own_path.c_str());
}

result<listener> listen_at(const std::string& path) {
    if (::sd_listen_fds(1) > 0)
        return listener{unique_fd(SD_LISTEN_FDS_START), {}};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return error{error_code::configuration, path + ": not a possible socket path"};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (const auto made = make_directories(path.substr(0, path.rfind('/')), 0755); !made)
        return made.failure();
    if (is_alive(path))
        return error{error_code::configuration, path + ": another agent serves here"};
    ::unlink(path.c_str());
    unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return system_error(errno, "socket");
    // The mode is set through the umask, so that there is no moment at which others could connect.
    const mode_t before = ::umask(0177);
    const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    const int number = errno;
    ::umask(before);
    if (bound != 0)
        return system_error(number, path);
    if (::listen(socket.get(), backlog) != 0)
        return system_error(errno, path);
    return listener{std::move(socket), path};
}

ending_signals::ending_signals() {
    sigset_t ending;
    ::sigemptyset(&ending);
    ::sigaddset(&ending, SIGTERM);
    ::sigaddset(&ending, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    fd_.reset(::signalfd(-1, &ending, SFD_CLOEXEC));
}

result<bool> serve(const listener& listening, const ending_signals& signals, preparations& jobs) {
    ::sd_notify(0, "READY=1");

    for (;;) {
        pollfd watched[2] = {{listening.socket.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
        if (::poll(watched, 2, -1) < 0 && errno != EINTR)
            return system_error(errno, "poll");
        if (watched[1].revents != 0)
            break;
        if ((watched[0].revents & POLLIN) == 0)
            continue;
        unique_fd socket(::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (socket && connections < most_connections)
            begin(std::move(socket), jobs);
        else if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
            ::poll(nullptr, 0, 50); // the connection stays in the queue, and asking again at once would only burn time
    }
    ::sd_notify(0, "STOPPING=1");
    const deadline end = deadline::in(last_words);
    while (connections > 0 && !end.passed())
        ::poll(nullptr, 0, 20);
    return connections == 0;
}

} // namespace amd_gpu
