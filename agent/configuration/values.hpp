// The kinds of value that settings have, between their text in a file and C++: sizes, times, lists of cores. Pure;
// which setting is of which kind, and its range, is the business of settings.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// "1GiB", "64MiB", "4KiB" or plain bytes, "4096". Nothing on anything else, and on what does not fit 64 bits.
std::optional<uint64_t> parse_bytes(std::string_view text);
/// The same size in the largest unit that divides it: "1GiB".
std::string bytes_text(uint64_t bytes);

/// Seconds without superfluous zeros: "8", "0.5".
std::string seconds_text(std::chrono::milliseconds duration);

/// A list of hardware threads as Linux writes one, "0-3,8": sorted, each once. Nothing on nonsense and above
/// highest_core. ranges_text() is the way back.
std::optional<std::vector<uint32_t>> parse_cores(std::string_view text);
/// More than any Linux supports (NR_CPUS, 8192).
constexpr uint32_t highest_core = 8191;

/// A text as a TOML basic string, in double quotes.
std::string toml_text(std::string_view text);
/// Whether a text has a control character (NUL, newline, ...), which no path or name of ours may hold.
bool has_control(std::string_view text);

} // namespace amd_gpu
