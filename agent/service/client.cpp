#include "service/client.hpp"

#include "system/fd.hpp"

#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace amd_gpu {
namespace {

error failed(error_code code, const std::string& what, int number) {
    return {code, what + ": " + std::strerror(number)};
}

/// Waits until the socket can be read or written. Errors: timed_out.
status wait_for(int socket, short events, deadline until) {
    for (;;) {
        pollfd watched{socket, events, 0};
        const int ready = ::poll(&watched, 1, static_cast<int>(until.left().count()));
        if (ready > 0)
            return success();
        if (ready == 0)
            return error{error_code::timed_out, "no answer in time"};
        if (errno != EINTR)
            return failed(error_code::internal, "poll", errno);
    }
}

result<std::string> receive_bytes(int socket, std::size_t count, deadline until) {
    std::string bytes(count, '\0');
    std::size_t have = 0;
    while (have < count) {
        if (const auto ready = wait_for(socket, POLLIN, until); !ready)
            return ready.failure();
        const ssize_t got = ::recv(socket, bytes.data() + have, count - have, MSG_DONTWAIT);
        if (got == 0)
            return error{error_code::peer, "the other side closed the connection"};
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return failed(error_code::peer, "receive", errno);
        if (got > 0)
            have += static_cast<std::size_t>(got);
    }
    return bytes;
}

result<unique_fd> connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return error{error_code::usage, path + ": longer than a socket path may be"};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return failed(error_code::internal, "socket", errno);
    // A full backlog answers EAGAIN at once on a non-blocking Unix socket: the agent is there but drowning.
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return socket;
    const int number = errno;
    if (number == EACCES || number == EPERM)
        return failed(error_code::permission, path, number);
    if (number == EAGAIN)
        return error{error_code::timed_out, path + ": the agent accepts no more connections"};
    return failed(error_code::not_found, path, number);
}

} // namespace

status send_message(int socket, const message& what, deadline until) {
    const auto bytes = encode(what);
    if (!bytes)
        return bytes.failure();
    std::string_view rest = *bytes;
    while (!rest.empty()) {
        if (const auto ready = wait_for(socket, POLLOUT, until); !ready)
            return ready.failure();
        const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return failed(error_code::peer, "send", errno);
        if (sent > 0)
            rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return success();
}

result<message> receive_message(int socket, deadline until) {
    const auto header = receive_bytes(socket, 4, until);
    if (!header)
        return header.failure();
    unsigned char bytes[4];
    std::memcpy(bytes, header->data(), sizeof bytes);
    const auto length = decode_length(bytes);
    if (!length)
        return length.failure();
    const auto body = receive_bytes(socket, *length, until);
    if (!body)
        return body.failure();
    return decode(*body);
}

result<message> ask(const std::string& socket, const message& request, deadline until,
                    const std::function<void(std::string_view)>& on_progress) {
    const auto connection = connect_to(socket);
    if (!connection)
        return connection.failure();
    if (const auto sent = send_message(connection->get(), request, until.at_most(silence_limit)); !sent)
        return sent.failure();
    for (;;) {
        auto reply = receive_message(connection->get(), until.at_most(silence_limit));
        if (!reply || reply->text("kind") != "progress")
            return reply;
        if (on_progress && !reply->text("text").empty())
            on_progress(reply->text("text"));
    }
}

} // namespace amd_gpu
