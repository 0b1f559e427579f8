#include "ranges.hpp"

#include <charconv>

namespace amd_gpu {
namespace {

constexpr std::size_t range_limit = 8192;

} // namespace

std::optional<uint32_t> parse_decimal(std::string_view text) {
    uint32_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<std::vector<uint32_t>> parse_ranges(std::string_view text) {
    std::vector<uint32_t> numbers;
    while (!text.empty()) {
        const auto end = text.find(',');
        const auto part = text.substr(0, end);
        const auto dash = part.find('-');
        const auto first = parse_decimal(part.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : parse_decimal(part.substr(dash + 1));
        if (!first || !last || *last < *first || *last - *first >= range_limit)
            return std::nullopt;
        for (uint32_t number = *first;; ++number) {
            numbers.push_back(number);
            if (number == *last)
                break;
        }
        if (numbers.size() > range_limit)
            return std::nullopt;
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
        if (text.empty())
            return std::nullopt; // "1,"
    }
    return numbers;
}

std::string ranges_text(const std::vector<uint32_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t last = i;
        while (last + 1 < numbers.size() && numbers[last] != UINT32_MAX && numbers[last + 1] == numbers[last] + 1)
            ++last;
        if (!text.empty())
            text += ',';
        text += std::to_string(numbers[i]);
        if (last > i)
            text += "-" + std::to_string(numbers[last]);
        i = last + 1;
    }
    return text;
}

} // namespace amd_gpu
