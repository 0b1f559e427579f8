// Which mirrors of a tree answer at all, and which want to be asked later, remembered by this process: one that cannot
// be reached must not cost every download its connect limit.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// Addresses in the order given, those whose server lately could not be reached behind the others. They are asked when
/// the others fail, and after a minute in their own place again.
std::vector<std::string> mirrors_in_order(std::vector<std::string> urls);
/// Remembers that a server ("https://host:port") could not be reached. Whether that is news.
bool mirror_unreachable(const std::string& origin);

/// Remembers that a server wants to be left alone for so long.
void mirror_busy(const std::string& origin, std::chrono::seconds wanted);
/// When the first of these servers that are busy now wants to be asked again; nothing when none is.
std::optional<std::chrono::steady_clock::time_point> first_busy_until(const std::vector<std::string>& urls);

/// The address of a file below that of a tree.
std::string below(const std::string& tree, const std::string& path);

} // namespace amd_gpu
