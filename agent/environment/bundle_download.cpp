// The agent's side of a download: it opens the file, starts the child and listens. What the child says of the content
// is not believed: whoever uses the file checks its hash.
#include "environment/bundle_download.hpp"

#include "configuration/settings.hpp"
#include "environment/bundle_child.hpp"
#include "environment/mirror_order.hpp"
#include "system/fd.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

using namespace std::chrono_literals;

constexpr mode_t partial_mode = 0600;
constexpr auto to_end_by_itself = 500ms; // before the agent ends the child
constexpr auto between_lines = 5s;

/// A file in memory with this text.
result<unique_fd> memory_file(const char* name, std::string_view text) {
    unique_fd file(::memfd_create(name, MFD_CLOEXEC));
    if (!file)
        return system_error(errno, "memfd_create");
    if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return system_error(errno, "writing a request");
    return file;
}

download_request request_of(const settings& site) {
    download_request made;
    made.ca_file = site.ca_file;
    made.proxy = site.proxy;
    made.no_proxy = site.no_proxy;
    made.connect_limit = site.connect_limit;
    made.stall_limit = site.stall_limit;
    return made;
}

std::string megabytes(uint64_t bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6);
}

/// What is known of a download while it goes on.
class watch {
  public:
    watch(const download_request& what, const progress& say)
        : what_(what)
        , say_(say ? say : [](const std::string&) {}) {}

    void line(std::string_view text) {
        const auto message = parse_child_line(text);
        if (!message)
            return;
        switch (message->what) {
        case child_message::kind::amount:
            bytes_ = message->bytes;
            tell_progress();
            break;
        case child_message::kind::say:
            say_(message->text);
            break;
        case child_message::kind::unreachable:
            if (mirror_unreachable(message->text))
                say_(message->text + " is asked last from now on: it cannot be reached");
            break;
        case child_message::kind::busy:
            mirror_busy(message->text, std::chrono::seconds(message->seconds));
            break;
        case child_message::kind::end:
            ended_ = message->ended;
            break;
        }
    }

    /// How the download ended, from what the child said or from how it ended itself.
    [[nodiscard]] status outcome(const child_result& child) const {
        if (ended_)
            return *ended_;
        if (child.how == child_result::ending::timed_out)
            return error{error_code::timed_out, ""};
        return error{child.how == child_result::ending::abandoned ? error_code::timed_out : error_code::peer,
                     "the download " + child.text()};
    }

  private:
    void tell_progress() {
        const auto now = deadline::clock::now();
        if (now - told_ < between_lines)
            return;
        told_ = now;
        say_(fmt::format("{} of {} MB downloaded", megabytes(bytes_), megabytes(what_.bytes)));
    }

    const download_request& what_;
    progress say_;
    uint64_t bytes_ = 0;
    deadline::clock::time_point told_ = deadline::clock::now();
    std::optional<status> ended_;
};

/// Runs the child to its end.
status download_by_child(const settings& site, const download_request& what, int file, deadline until,
                         const progress& say) {
    const auto left = until.left();
    if (left <= to_end_by_itself)
        return error{error_code::timed_out, ""};
    const auto request = memory_file("download", to_child_request(what, left - to_end_by_itself));
    if (!request)
        return request.failure();
    command child;
    child.arguments = {"/proc/self/exe", "download"};
    child.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    child.descriptors = {request->get(), file};
    if (::geteuid() == 0) {
        const result<identity> as = identity_of(site.fetch_user);
        if (!as)
            return as.failure().within("cache.user");
        child.as = *as;
    }
    watch seen(what, say);
    const auto ended = run(child, until, [&](std::string_view line) { seen.line(line); });
    if (!ended)
        return ended.failure();
    return seen.outcome(*ended);
}

uint64_t size_of(int file) {
    struct stat info{};
    return ::fstat(file, &info) == 0 && info.st_size > 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

/// The error of a download that ran out of time, in words that leave no doubt whose time it was.
error too_late(const error& why, std::chrono::milliseconds limit, bool own, uint64_t bytes, uint64_t of) {
    const double part = of == 0 ? 0 : 100.0 * static_cast<double>(bytes) / static_cast<double>(of);
    std::string text =
        fmt::format("own limit of {:.0f} s ({}) with {:.0f} % of {} MB done; the next try goes on from there",
                    std::chrono::duration<double>(limit).count(),
                    own ? "bundle.limit" : "what the job's preparation may take", part, megabytes(of));
    return {error_code::timed_out, why.what.empty() ? text : text + " (" + why.what + ")"};
}

} // namespace

std::string blob_path(const std::string& sha256) {
    return "blobs/sha256/" + sha256;
}

status download_blob(const settings& site, const blob_source& what, const std::string& partial, deadline until,
                     const progress& say) {
    const unique_fd file(
        ::open(partial.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, partial_mode));
    if (!file)
        return system_error(errno, partial);
    if (struct stat info{}; ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
        return error{error_code::internal, partial + ": no regular file"};
    download_request request = request_of(site);
    request.sha256 = what.sha256;
    request.bytes = what.bytes;
    for (const std::string& tree : mirrors_in_order(what.urls))
        request.urls.push_back(below(tree, blob_path(what.sha256)));

    const auto limit = std::min(until.left(), site.download_limit);
    const status ended = download_by_child(site, request, file.get(), until.at_most(limit), say);
    if (!ended && ended.failure().code == error_code::timed_out)
        return too_late(ended.failure(), limit, limit == site.download_limit, size_of(file.get()), what.bytes);
    return ended;
}

result<std::string> download_text(const settings& site, const std::string& url, std::size_t most, deadline until,
                                  const progress& say) {
    download_request request = request_of(site);
    request.urls = {url};
    request.bytes = most;
    request.tries = 1; // whoever wants it asks the next mirror
    request.comes_back = false;
    const auto file = memory_file("text", "");
    if (!file)
        return file.failure();
    const status ended = download_by_child(site, request, file->get(), until, say);
    if (!ended)
        return ended.failure().what.empty()
                   ? error{ended.failure().code, origin_of(url) + ": no answer in the time that was left"}
                   : ended.failure();
    std::string text(std::min<uint64_t>(size_of(file->get()), most), '\0');
    if (::pread(file->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        return system_error(errno, "reading what was downloaded");
    return text;
}

} // namespace amd_gpu
