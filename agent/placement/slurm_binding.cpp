#include "placement/slurm_binding.hpp"

#include "ranges.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace amd_gpu {
namespace {

constexpr std::size_t longest_mask = 2048; // hexadecimal digits: 8192 CPUs

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return static_cast<unsigned>(c - '0');
    const char lower = static_cast<char>(c | 0x20);
    if (lower >= 'a' && lower <= 'f')
        return static_cast<unsigned>(lower - 'a') + 10;
    return std::nullopt;
}

std::string_view without_prefix(std::string_view text) {
    return text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
}

/// "0x00000300" is CPUs 8 and 9.
std::optional<cpu_list> parse_mask(std::string_view text) {
    text = without_prefix(text);
    if (text.empty() || text.size() > longest_mask)
        return std::nullopt;
    cpu_list cpus;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto digit = hex_digit(text[text.size() - 1 - i]);
        if (!digit)
            return std::nullopt;
        for (unsigned bit = 0; bit < 4; ++bit)
            if ((*digit >> bit & 1U) != 0)
                cpus.push_back(static_cast<uint32_t>(i * 4 + bit));
    }
    return cpus;
}

std::optional<cpu_list> parse_cpu(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) {
        uint32_t cpu = 0;
        for (const char c : without_prefix(text)) {
            const auto digit = hex_digit(c);
            if (!digit || cpu > 0xffff)
                return std::nullopt;
            cpu = cpu << 4 | *digit;
        }
        return cpu_list{cpu};
    }
    const auto cpu = parse_decimal(text);
    return cpu ? std::optional(cpu_list{*cpu}) : std::nullopt;
}

} // namespace

std::vector<cpu_list> ranks_bound(std::string_view type, std::string_view list, uint32_t ranks) {
    const bool masks = type.find("mask_cpu") != std::string_view::npos;
    if ((!masks && type.find("map_cpu") == std::string_view::npos) || list.empty())
        return {};
    std::vector<cpu_list> entries;
    while (!list.empty() && entries.size() < ranks) {
        auto entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
        uint32_t times = 1; // "0xf*4"
        if (const auto star = entry.find('*'); star != std::string_view::npos) {
            times = parse_decimal(entry.substr(star + 1)).value_or(0);
            entry = entry.substr(0, star);
        }
        const auto cpus = masks ? parse_mask(entry) : parse_cpu(entry);
        if (!cpus || cpus->empty() || times == 0)
            return {};
        for (uint32_t i = 0; i < times && entries.size() < ranks; ++i)
            entries.push_back(*cpus);
    }
    for (std::size_t i = 0; entries.size() < ranks; ++i)
        entries.push_back(entries[i]);
    return entries;
}

} // namespace amd_gpu
