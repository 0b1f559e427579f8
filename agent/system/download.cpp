// The order in which mirrors are asked, and when they are asked again.
#include "system/download.hpp"

#include "system/download_attempt.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>
#include <thread>

namespace amd_gpu {

namespace {

using namespace std::chrono_literals;
using clock_type = deadline::clock;
using verdict = download_attempt::verdict;

constexpr auto first_pause = 500ms;
constexpr auto longest_pause = 30'000ms;
constexpr auto longest_retry_after = std::chrono::seconds(3600);
constexpr uint64_t fraction_bits = 1U << 16;

struct mirror {
    std::string url;
    bool out = false;                    ///< not asked again
    clock_type::time_point not_before{}; ///< when it wants to be asked again
    unsigned turned_away = 0;            ///< how often it named a time
    error why{};                         ///< of its last failure
};

class mirrors {
  public:
    mirrors(const download_request& what, int file, deadline until, const download_listener& listener)
        : what_(what)
        , to_(file)
        , until_(until)
        , listener_(listener)
        , random_(std::random_device{}()) {
        for (const std::string& url : what.urls)
            all_.push_back({.url = url});
    }

    status fill() {
        const status there = begin();
        if (!there || complete_)
            return there;
        for (unsigned round = 0;;) {
            bool progressed = false;
            bool turned_away = false;
            for (mirror& one : all_) {
                if (one.out || one.not_before > clock_type::now())
                    continue;
                if (until_.passed())
                    return too_late();
                const download_attempt ended = attempt_download(what_, one.url, to_, until_, listener_);
                if (ended.what == verdict::done)
                    return success();
                if (ended.what == verdict::stop)
                    return ended.why;
                if (until_.passed())
                    return too_late();
                progressed |= ended.progressed;
                turned_away |= ended.retry_after > 0s;
                note(one, ended);
            }
            if (std::all_of(all_.begin(), all_.end(), [](const mirror& one) { return one.out; }))
                return nobody();
            if (progressed) // as long as something comes, it is worth while
                round = 0;
            else if (!turned_away || !what_.comes_back)
                ++round;
            if (round >= what_.tries)
                return nobody();
            if (const status waited = pause(round == 0 ? 0 : round - 1); !waited)
                return waited;
        }
    }

  private:
    /// What is there from before: nothing, a part, all of it, or nonsense.
    status begin() {
        if (what_.sha256.empty())
            return to_.restart();
        if (const status read = to_.resume(); !read)
            return read;
        if (to_.size() < what_.bytes)
            return success();
        complete_ = to_.size() == what_.bytes && to_.hash() == what_.sha256;
        return complete_ ? success() : to_.restart();
    }

    void note(mirror& one, const download_attempt& ended) {
        const std::string origin = origin_of(one.url);
        const bool news = one.why.what != ended.why.what;
        one.out = ended.what == verdict::never;
        one.why = ended.why;
        const auto wanted = std::min<std::chrono::seconds>(ended.retry_after, longest_retry_after);
        if (wanted > 0s) { // not all at the very moment that the server names
            one.not_before = clock_type::now() + wanted + pause_before(one.turned_away++, random_());
            if (listener_.busy)
                listener_.busy(origin, wanted);
        }
        if (ended.unreachable && listener_.unreachable)
            listener_.unreachable(origin);
        if (news && listener_.say)
            listener_.say(origin + ": " + ended.why.what);
    }

    /// Waits before the next round, and until one mirror wants to be asked.
    status pause(unsigned round) {
        auto earliest = clock_type::time_point::max();
        for (const mirror& one : all_)
            if (!one.out)
                earliest = std::min(earliest, one.not_before);
        const auto next = std::max(earliest, clock_type::now() + pause_before(round, random_()));
        if (next >= until_.when()) {
            if (earliest >= until_.when())
                return error{error_code::timed_out, failures() + "; too late to wait until it may be asked again"};
            std::this_thread::sleep_until(until_.when());
            return too_late();
        }
        std::this_thread::sleep_until(next);
        return success();
    }

    [[nodiscard]] std::string failures() const {
        std::string text;
        for (const mirror& one : all_)
            if (!one.why.what.empty())
                text += (text.empty() ? "" : "; ") + origin_of(one.url) + ": " + one.why.what;
        return text;
    }

    [[nodiscard]] error nobody() const {
        const bool unknown = std::all_of(all_.begin(), all_.end(),
                                         [](const mirror& one) { return one.why.code == error_code::not_found; });
        return {unknown ? error_code::not_found : error_code::peer, failures()};
    }

    [[nodiscard]] error too_late() const { return {error_code::timed_out, failures()}; }

    const download_request& what_;
    download_file to_;
    deadline until_;
    const download_listener& listener_;
    std::mt19937_64 random_;
    std::vector<mirror> all_;
    bool complete_ = false;
};

} // namespace

std::string origin_of(const std::string& url) {
    const std::size_t scheme = url.find("://");
    if (scheme == std::string::npos)
        return url;
    const std::size_t start = scheme + 3;
    const std::size_t end = std::min(url.find_first_of("/?#", start), url.size());
    const std::size_t at = url.rfind('@', end); // a name and a password are nobody's business
    const std::size_t host = at != std::string::npos && at >= start ? at + 1 : start;
    return url.substr(0, start) + url.substr(host, end - host);
}

std::chrono::milliseconds pause_before(unsigned round, uint64_t random) {
    constexpr unsigned doublings = 10;
    const auto longest =
        std::min<std::chrono::milliseconds>(first_pause * (1U << std::min(round, doublings)), longest_pause);
    return longest * static_cast<int64_t>(random % fraction_bits) / static_cast<int64_t>(fraction_bits);
}

status download(const download_request& what, int file, deadline until, const download_listener& listener) {
    if (what.urls.empty())
        return error{error_code::configuration, "no server is named"};
    return mirrors(what, file, until, listener).fill();
}

} // namespace amd_gpu
