#include "environment/bundle_child.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr std::string_view code_names[] = {"usage",     "configuration", "not_found",   "permission",
                                           "timed_out", "peer",          "unsupported", "internal"};

std::string dumped(const json& from) {
    return from.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string text_in(const json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t number_in(const json& from, const char* key) {
    const auto found = from.find(key);
    return found != from.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

std::chrono::milliseconds time_in(const json& from, const char* key) {
    constexpr uint64_t longest = 1'000'000'000;
    return std::chrono::milliseconds(std::min(number_in(from, key), longest));
}

status ending_of(const json& from) {
    if (from.is_null())
        return success();
    if (!from.is_object())
        return error{error_code::peer, "spoke nonsense"};
    const std::string name = text_in(from, "code");
    const auto known = std::find(std::begin(code_names), std::end(code_names), name);
    const auto code =
        known == std::end(code_names) ? error_code::internal : static_cast<error_code>(known - std::begin(code_names));
    return error{code, text_in(from, "what")};
}

} // namespace

std::string to_child_request(const download_request& what, std::chrono::milliseconds limit) {
    return dumped({{"urls", what.urls},
                   {"sha256", what.sha256},
                   {"bytes", what.bytes},
                   {"ca_file", what.ca_file},
                   {"proxy", what.proxy},
                   {"no_proxy", what.no_proxy},
                   {"connect_ms", static_cast<uint64_t>(what.connect_limit.count())},
                   {"stall_ms", static_cast<uint64_t>(what.stall_limit.count())},
                   {"tries", what.tries},
                   {"comes_back", what.comes_back},
                   {"limit_ms", static_cast<uint64_t>(limit.count())}});
}

result<std::pair<download_request, std::chrono::milliseconds>> parse_child_request(std::string_view text) {
    const json from = json::parse(text, nullptr, /*allow_exceptions=*/false);
    const error nonsense{error_code::peer, "no request for a download"};
    if (!from.is_object() || !from.contains("urls") || !from["urls"].is_array())
        return nonsense;
    download_request what;
    for (const json& url : from["urls"])
        if (url.is_string())
            what.urls.push_back(url.get<std::string>());
    what.sha256 = text_in(from, "sha256");
    what.bytes = number_in(from, "bytes");
    what.ca_file = text_in(from, "ca_file");
    what.proxy = text_in(from, "proxy");
    what.no_proxy = text_in(from, "no_proxy");
    what.connect_limit = time_in(from, "connect_ms");
    what.stall_limit = time_in(from, "stall_ms");
    what.tries = static_cast<unsigned>(std::min<uint64_t>(number_in(from, "tries"), 1000));
    what.comes_back = from.value("comes_back", json(true)) != json(false);
    if (what.urls.empty() || what.bytes == 0 || what.tries == 0)
        return nonsense;
    return std::pair(what, time_in(from, "limit_ms"));
}

std::string to_line(const child_message& from) {
    switch (from.what) {
    case child_message::kind::amount:
        return dumped({{"bytes", from.bytes}});
    case child_message::kind::say:
        return dumped({{"say", from.text}});
    case child_message::kind::unreachable:
        return dumped({{"unreachable", from.text}});
    case child_message::kind::busy:
        return dumped({{"busy", {{"origin", from.text}, {"seconds", from.seconds}}}});
    case child_message::kind::end:
        break;
    }
    if (from.ended)
        return dumped({{"end", nullptr}});
    const error& why = from.ended.failure();
    return dumped({{"end", {{"code", code_names[static_cast<std::size_t>(why.code)]}, {"what", why.what}}}});
}

std::optional<child_message> parse_child_line(std::string_view line) {
    const json from = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!from.is_object() || from.size() != 1)
        return std::nullopt;
    child_message read;
    if (from.contains("bytes")) {
        read.what = child_message::kind::amount;
        read.bytes = number_in(from, "bytes");
    } else if (from.contains("say")) {
        read.text = text_in(from, "say");
    } else if (from.contains("unreachable")) {
        read.what = child_message::kind::unreachable;
        read.text = text_in(from, "unreachable");
    } else if (from.contains("busy") && from["busy"].is_object()) {
        read.what = child_message::kind::busy;
        read.text = text_in(from["busy"], "origin");
        read.seconds = number_in(from["busy"], "seconds");
    } else if (from.contains("end")) {
        read.what = child_message::kind::end;
        read.ended = ending_of(from["end"]);
    } else {
        return std::nullopt;
    }
    return read;
}

int download_as_child() {
    const auto tell = [](const child_message& message) {
        std::string line = to_line(message) + "\n";
        std::fwrite(line.data(), 1, line.size(), stdout);
        std::fflush(stdout);
    };
    const auto end = [&](status how) {
        child_message last;
        last.what = child_message::kind::end;
        last.ended = std::move(how);
        tell(last);
        return last.ended ? 0 : 1;
    };
    const auto text = read_file("/proc/self/fd/3");
    if (!text)
        return end(text.failure());
    const auto request = parse_child_request(*text);
    if (!request)
        return end(request.failure());
    download_listener listener;
    listener.progress = [&](uint64_t bytes) {
        child_message message;
        message.what = child_message::kind::amount;
        message.bytes = bytes;
        tell(message);
    };
    listener.say = [&](const std::string& line) {
        child_message message;
        message.text = line;
        tell(message);
    };
    listener.unreachable = [&](const std::string& origin) {
        child_message message;
        message.what = child_message::kind::unreachable;
        message.text = origin;
        tell(message);
    };
    listener.busy = [&](const std::string& origin, std::chrono::seconds wanted) {
        child_message message;
        message.what = child_message::kind::busy;
        message.text = origin;
        message.seconds = static_cast<uint64_t>(wanted.count());
        tell(message);
    };
    constexpr int file = 4;
    return end(download(request->first, file, deadline::in(request->second), listener));
}

} // namespace amd_gpu
