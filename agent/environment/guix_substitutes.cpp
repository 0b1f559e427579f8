#include "environment/guix_substitutes.hpp"

#include "system/files.hpp"

#include <charconv>
#include <fmt/format.h>

namespace amd_gpu {

namespace {

constexpr std::size_t hash_digits = 32; // of a store item's name, in Nix's base 32

/// "/gnu/store/HASH-name" -> HASH; empty: no store item.
std::string_view hash_of(std::string_view item) {
    const std::string_view name = item.substr(item.rfind('/') + 1);
    return name.size() > hash_digits && name[hash_digits] == '-' ? name.substr(0, hash_digits) : std::string_view{};
}

/// The smallest FileSize of a narinfo, one for each compression; 0 when it names none.
uint64_t size_in(std::string_view narinfo) {
    constexpr std::string_view field = "FileSize:";
    uint64_t smallest = 0;
    for (const std::string& line : split(narinfo, '\n')) {
        if (!line.starts_with(field))
            continue;
        const std::string digits(trimmed(std::string_view(line).substr(field.size())));
        uint64_t size = 0;
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
        if (problem == std::errc() && end == digits.data() + digits.size() && (smallest == 0 || size < smallest))
            smallest = size;
    }
    return smallest;
}

} // namespace

std::string derivation_output(std::string_view text) {
    constexpr std::string_view beginning = "Derive([(\"";
    if (!text.starts_with(beginning))
        return {};
    const std::size_t name_end = text.find("\",\"", beginning.size());
    if (name_end == std::string_view::npos)
        return {};
    const std::size_t path = name_end + 3;
    const std::size_t end = text.find('"', path);
    return end == std::string_view::npos ? std::string() : std::string(text.substr(path, end - path));
}

std::vector<std::string> substitutes_hint(const std::vector<std::string>& servers,
                                          const std::vector<std::string>& items, deadline until,
                                          const text_reader& read) {
    std::vector<std::string> lines;
    for (const std::string& server : servers) {
        std::size_t found = 0;
        std::size_t asked = 0;
        uint64_t bytes = 0;
        std::string trouble;
        for (const std::string& item : items) {
            const std::string_view hash = hash_of(item);
            if (hash.empty())
                continue;
            if (until.passed()) {
                trouble = "no time left to ask for the others";
                break;
            }
            const auto narinfo = read(fmt::format("{}/{}.narinfo", server, hash), until);
            if (!narinfo && narinfo.failure().code != error_code::not_found) {
                trouble = narinfo.failure().what;
                break;
            }
            ++asked;
            found += narinfo ? 1U : 0U;
            bytes += narinfo ? size_in(*narinfo) : 0;
        }
        std::string line = fmt::format("{} has {} of {}", server, found, asked);
        if (bytes > 0)
            line += fmt::format(" ({:.1f} MB)", static_cast<double>(bytes) / 1e6);
        if (found > 0)
            line += "; that Guix would build them all the same means that its daemon does not use or trust this server";
        if (asked == 0 && !trouble.empty())
            line = fmt::format("{} does not answer: {}", server, trouble);
        else if (!trouble.empty())
            line += fmt::format(" that were asked for: {}", trouble);
        lines.push_back(std::move(line));
    }
    return lines;
}

} // namespace amd_gpu
