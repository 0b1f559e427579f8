// Lists of small numbers (GPUs, CPUs, cores) as people and the kernel write them: "0-3,8". Pure; nothing but the
// standard library, because the plugin uses it, too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// A text that is one decimal number and nothing else.
std::optional<uint32_t> parse_decimal(std::string_view text);

/// The numbers of a list, in the order of the text; an empty text is an empty list. Nothing on other text, or on more
/// than 8192 numbers, which no list of CPUs or GPUs has.
std::optional<std::vector<uint32_t>> parse_ranges(std::string_view text);

/// Numbers as a list, in their order; ascending runs are joined.
std::string ranges_text(const std::vector<uint32_t>& numbers);

} // namespace amd_gpu
