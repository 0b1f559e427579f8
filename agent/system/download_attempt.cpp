#include "system/download_attempt.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <curl/curl.h>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>

namespace amd_gpu {

namespace {

using verdict = download_attempt::verdict;

constexpr long read_buffer = 256L * 1024;
constexpr auto between_progress = std::chrono::seconds(1);
constexpr long http_ok = 200;
constexpr long http_partial = 206;
constexpr long http_not_found = 404;
constexpr long http_request_timeout = 408;
constexpr long http_gone = 410;
constexpr long http_bad_range = 416;
constexpr long http_too_early = 425;
constexpr long http_too_many = 429;
constexpr long http_server_error = 500;

/// "bytes 100-199/200": the first number; nothing when it is not of that form.
std::optional<uint64_t> range_start(std::string_view text) {
    text = trimmed(text);
    constexpr std::string_view unit = "bytes ";
    if (!text.starts_with(unit))
        return std::nullopt;
    text.remove_prefix(unit.size());
    return parse_number(text.substr(0, text.find('-')));
}

bool same_name(std::string_view header, std::string_view name) {
    return header.size() == name.size() && std::equal(header.begin(), header.end(), name.begin(), [](char a, char b) {
               return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
           });
}

/// What libcurl's callbacks see of one request. They are called from C: nothing here may throw but for want of memory,
/// which ends the child.
struct transfer {
    const download_request& what;
    download_file& to;
    const download_listener& listener;
    CURL* handle = nullptr;
    uint64_t before = 0;
    std::size_t header_bytes = 0;
    std::optional<uint64_t> content_range{};
    std::optional<uint64_t> content_length{};
    bool accepted = false; ///< the body is the file, and not an error page
    std::optional<download_attempt> refused{};
    std::chrono::steady_clock::time_point told = std::chrono::steady_clock::now();

    [[nodiscard]] long code() const {
        long number = 0;
        ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &number);
        return number;
    }

    bool refuse(verdict how, error_code why, std::string text) {
        if (!refused)
            refused = download_attempt{how, {why, std::move(text)}};
        return false;
    }

    bool header(std::string_view line) {
        header_bytes += line.size();
        if (header_bytes > most_header_bytes)
            return refuse(verdict::never, error_code::peer,
                          fmt::format("sends more than {} KiB of headers", most_header_bytes / 1024));
        if (line.starts_with("HTTP/")) { // of the next answer, after a redirect
            content_range.reset();
            content_length.reset();
        }
        const std::size_t colon = line.find(':');
        if (colon == std::string_view::npos)
            return true;
        const std::string_view name = line.substr(0, colon);
        if (same_name(name, "content-range"))
            content_range = range_start(line.substr(colon + 1));
        if (same_name(name, "content-length"))
            content_length = parse_number(trimmed(line.substr(colon + 1)));
        return true;
    }

    /// Looks at the answer before its first byte is kept.
    bool accept() {
        const long status_code = code();
        if (status_code == http_ok && to.size() > 0) {
            if (const status emptied = to.restart(); !emptied)
                return refuse(verdict::stop, error_code::internal, emptied.failure().what);
        } else if (status_code == http_partial && content_range != to.size()) {
            return refuse(verdict::never, error_code::peer, "sends another part of the file than it was asked for");
        } else if (status_code != http_ok && status_code != http_partial) {
            return refuse_code(status_code);
        }
        const uint64_t announced = to.size() + content_length.value_or(0);
        if (content_length && (announced > what.bytes || (!what.sha256.empty() && announced != what.bytes)))
            return refuse(verdict::never, error_code::peer,
                          fmt::format("has {} bytes instead of {}{}", announced, what.sha256.empty() ? "at most " : "",
                                      what.bytes));
        return accepted = true;
    }

    bool refuse_code(long status_code) {
        const std::string text = fmt::format("answers with HTTP status {}", status_code);
        if (status_code == http_not_found || status_code == http_gone)
            return refuse(verdict::never, error_code::not_found, "does not have it");
        if (status_code == http_bad_range && to.size() > 0) {
            if (const status emptied = to.restart(); !emptied)
                return refuse(verdict::stop, error_code::internal, emptied.failure().what);
            return refuse(verdict::again, error_code::peer, text);
        }
        const bool passing = status_code == http_request_timeout || status_code == http_too_early ||
                             status_code == http_too_many || status_code >= http_server_error;
        return refuse(passing ? verdict::again : verdict::never, error_code::peer, text);
    }

    bool body(std::string_view bytes) {
        if (!accepted && !accept())
            return false;
        if (to.size() + bytes.size() > what.bytes)
            return refuse(verdict::never, error_code::peer,
                          fmt::format("sends more than the {} bytes that it may have", what.bytes));
        if (const status written = to.append(bytes); !written)
            return refuse(verdict::stop, error_code::internal, written.failure().what);
        return true;
    }

    void tell() {
        const auto now = std::chrono::steady_clock::now();
        if (!listener.progress || now - told < between_progress)
            return;
        told = now;
        listener.progress(to.size());
    }
};

std::size_t on_header(char* data, std::size_t /*one*/, std::size_t size, void* of) {
    return static_cast<transfer*>(of)->header({data, size}) ? size : 0;
}
std::size_t on_body(char* data, std::size_t /*one*/, std::size_t size, void* of) {
    return static_cast<transfer*>(of)->body({data, size}) ? size : 0;
}
int on_progress(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    static_cast<transfer*>(of)->tell();
    return 0;
}

void set_options(transfer& one, const std::string& url, deadline until, char* problem) {
    CURL* handle = one.handle;
    const bool secure = url.starts_with("https:");
    const auto set = [&](CURLoption option, auto value) { ::curl_easy_setopt(handle, option, value); };
    set(CURLOPT_ERRORBUFFER, problem);
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "amd-gpu-agent/" AMD_GPU_VERSION);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, most_redirects);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!one.what.ca_file.empty()) {
        set(CURLOPT_CAINFO, one.what.ca_file.c_str());
        set(CURLOPT_CAPATH, nullptr);
    }
    set(CURLOPT_PROXY, one.what.proxy.c_str()); // "": none, whatever the environment says
    set(CURLOPT_NOPROXY, one.what.no_proxy.c_str());
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(one.what.connect_limit.count()));
    set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(until.left().count())));
    set(CURLOPT_LOW_SPEED_LIMIT, slowest_download);
    set(CURLOPT_LOW_SPEED_TIME,
        std::max(1L, static_cast<long>(std::chrono::ceil<std::chrono::seconds>(one.what.stall_limit).count())));
    set(CURLOPT_BUFFERSIZE, read_buffer);
    set(CURLOPT_HEADERFUNCTION, on_header);
    set(CURLOPT_HEADERDATA, &one);
    set(CURLOPT_WRITEFUNCTION, on_body);
    set(CURLOPT_WRITEDATA, &one);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, on_progress);
    set(CURLOPT_XFERINFODATA, &one);
}

/// What the library says of a request that did not come to its end.
download_attempt failed(CURLcode code, const char* problem, bool connected) {
    download_attempt ended;
    ended.why = {error_code::peer, *problem != '\0' ? problem : ::curl_easy_strerror(code)};
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        ended.what = verdict::never;
        ended.why.what = "its certificate is not trusted: " + ended.why.what;
        break;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
        ended.what = verdict::never;
        break;
    default:
        ended.unreachable = !connected;
    }
    return ended;
}

/// A whole answer has come; is it the file?
download_attempt judged(const download_request& what, download_file& to, bool resumed) {
    download_attempt ended;
    if (what.sha256.empty()) {
        ended.what = verdict::done;
        return ended;
    }
    if (to.size() < what.bytes) {
        ended.why = {error_code::peer, fmt::format("ended after {} of {} bytes", to.size(), what.bytes)};
        return ended;
    }
    if (to.hash() == what.sha256) {
        ended.what = verdict::done;
        return ended;
    }
    // What was there before may have been wrong, so the server gets another chance with all of it.
    ended.what = resumed ? verdict::again : verdict::never;
    ended.why = {error_code::peer, "gives another content than the index says"};
    if (const status emptied = to.restart(); !emptied) {
        ended.what = verdict::stop;
        ended.why = emptied.failure();
    }
    return ended;
}

} // namespace

status download_file::resume() {
    sum_ = sha256();
    size_ = 0;
    std::vector<char> piece(1UL << 20);
    for (;;) {
        const ssize_t count = ::pread(file_, piece.data(), piece.size(), static_cast<off_t>(size_));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error(errno, "reading what was downloaded before");
        if (count == 0)
            return success();
        sum_.add({piece.data(), static_cast<std::size_t>(count)});
        size_ += static_cast<uint64_t>(count);
    }
}

status download_file::restart() {
    sum_ = sha256();
    size_ = 0;
    if (::ftruncate(file_, 0) != 0)
        return system_error(errno, "emptying the file");
    return success();
}

status download_file::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error(errno, "writing");
        const auto written = static_cast<std::size_t>(count);
        sum_.add(bytes.substr(0, written));
        size_ += written;
        bytes.remove_prefix(written);
    }
    return success();
}

download_attempt attempt_download(const download_request& what, const std::string& url, download_file& to,
                                  deadline until, const download_listener& listener) {
    static std::once_flag once;
    std::call_once(once, [] { ::curl_global_init(CURL_GLOBAL_DEFAULT); });
    const std::unique_ptr<CURL, void (*)(CURL*)> handle(::curl_easy_init(), ::curl_easy_cleanup);
    if (!handle)
        return {verdict::stop, {error_code::internal, "libcurl has no memory"}};
    if (what.sha256.empty() && to.size() > 0) // of another version, perhaps
        if (const status emptied = to.restart(); !emptied)
            return {verdict::stop, emptied.failure()};
    transfer one{what, to, listener, handle.get(), to.size()};
    std::array<char, CURL_ERROR_SIZE> problem{};
    set_options(one, url, until, problem.data());
    const std::string range = fmt::format("{}-", to.size());
    if (to.size() > 0)
        ::curl_easy_setopt(handle.get(), CURLOPT_RANGE, range.c_str());

    const CURLcode code = ::curl_easy_perform(handle.get());
    curl_off_t connected = 0;
    ::curl_easy_getinfo(handle.get(), CURLINFO_CONNECT_TIME_T, &connected);
    if (code == CURLE_OK && !one.accepted)
        one.accept(); // an answer without a body
    curl_off_t wait = 0;
    ::curl_easy_getinfo(handle.get(), CURLINFO_RETRY_AFTER, &wait);

    download_attempt ended;
    if (one.refused)
        ended = *one.refused;
    else if (code != CURLE_OK)
        ended = failed(code, problem.data(), connected > 0);
    else
        ended = judged(what, to, one.before > 0);
    ended.retry_after = std::chrono::seconds(std::max<curl_off_t>(wait, 0));
    ended.progressed = !what.sha256.empty() && to.size() > one.before;
    return ended;
}

} // namespace amd_gpu
