// Parsing and printing of single values.
#include "configuration/values.hpp"

#include "ranges.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>

namespace amd_gpu {

namespace {

struct unit {
    std::string_view name;
    unsigned shift;
};
constexpr std::array<unit, 4> units{{{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}}};

std::optional<uint64_t> decimal(std::string_view text) {
    // parse_number knows hexadecimal as well; nobody writes a size or a core that way on purpose.
    if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
        return std::nullopt;
    return parse_number(text);
}

} // namespace

std::optional<uint64_t> parse_bytes(std::string_view text) {
    unsigned shift = 0;
    for (const unit& one : units)
        if (text.ends_with(one.name)) {
            shift = one.shift;
            text.remove_suffix(one.name.size());
            break;
        }
    const std::optional<uint64_t> count = decimal(text);
    if (!count || *count > (UINT64_MAX >> shift))
        return std::nullopt;
    return *count << shift;
}

std::string bytes_text(uint64_t bytes) {
    for (const unit& one : units)
        if (bytes != 0 && bytes % (uint64_t{1} << one.shift) == 0)
            return fmt::format("{}{}", bytes >> one.shift, one.name);
    return fmt::format("{}", bytes);
}

std::string seconds_text(std::chrono::milliseconds duration) {
    return fmt::format("{}", static_cast<double>(duration.count()) / 1000);
}

std::optional<std::vector<uint32_t>> parse_cores(std::string_view text) {
    auto cores = parse_ranges(text);
    if (!cores)
        return std::nullopt;
    std::sort(cores->begin(), cores->end());
    cores->erase(std::unique(cores->begin(), cores->end()), cores->end());
    if (!cores->empty() && cores->back() > highest_core)
        return std::nullopt;
    return cores;
}

std::string toml_text(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

} // namespace amd_gpu
