// Downloading one file by HTTP or HTTPS with libcurl: several mirrors in order, resumed where it stopped, within limits
// of every kind. It blocks, and what a server sends is processed here: for a child without privileges only.
#pragma once

#include "result.hpp"
#include "system/deadline.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace amd_gpu {

struct download_request {
    std::vector<std::string> urls; ///< whole addresses of the same file, in the order in which they are tried
    std::string sha256;            ///< of its content, 64 hexadecimal digits; empty: not known
    uint64_t bytes = 0;            ///< its size; where `sha256` is not known, the most that it may have
    std::string ca_file;           ///< certificates to trust instead of the system's; empty: the system's
    std::string proxy;             ///< "http://proxy:3128"; empty: none
    std::string no_proxy;          ///< hosts and domains that are asked directly, separated by commas
    std::chrono::milliseconds connect_limit{5000};
    std::chrono::milliseconds stall_limit{15000}; ///< so long it may be slower than slowest_download
    unsigned tries = 4;                           ///< rounds over all mirrors in which nothing at all comes
    /// A server that names a time to come back is alive and asked again then, however often, until the deadline.
    bool comes_back = true;

    bool operator==(const download_request&) const = default;
};

/// Bytes a second; slower than this for the stall limit, and a server counts as stuck.
constexpr long slowest_download = 1000;
/// The headers of all answers to one request may have so many bytes.
constexpr std::size_t most_header_bytes = 64UL * 1024;
constexpr long most_redirects = 3;

/// Told while it goes on.
struct download_listener {
    std::function<void(uint64_t)> progress;              ///< bytes of the file that are there, about once a second
    std::function<void(const std::string&)> say;         ///< texts for whoever waits
    std::function<void(const std::string&)> unreachable; ///< a server that did not answer at all: "https://host:port"
    /// A server that wants to be asked again after so long.
    std::function<void(const std::string&, std::chrono::seconds)> busy;
};

/// Fills the file open at `file`; what it holds already counts as its beginning. The file is left empty when its
/// content was not what `sha256` says. Errors: not_found (every server says so), peer (none gives it, or gives
/// something else), internal (the disk is full), timed_out (what came stays in the file).
status download(const download_request& what, int file, deadline until, const download_listener& listener);

/// "https://host:port" of an address; the whole address when it has no such part.
std::string origin_of(const std::string& url);

/// How long to wait before round `round` (0: the first repetition): at random up to 0.5 s, 1 s, 2 s, ... 30 s, so that
/// many nodes do not come back at the same moment. `random`: any number.
std::chrono::milliseconds pause_before(unsigned round, uint64_t random);

} // namespace amd_gpu
