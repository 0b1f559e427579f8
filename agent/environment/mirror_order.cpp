#include "environment/mirror_order.hpp"

#include "system/download.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace amd_gpu {

namespace {

using clock_type = deadline::clock;

constexpr auto remembered_for = std::chrono::seconds(60);
constexpr auto longest_busy = std::chrono::seconds(3600);
constexpr std::size_t most_remembered = 1000;

std::mutex guard;
using moments = std::map<std::string, clock_type::time_point>; // by origin
moments unreachable_until;
moments busy_until;

std::optional<clock_type::time_point> in_future(const moments& of, const std::string& url) {
    const auto found = of.find(origin_of(url));
    return found != of.end() && found->second > clock_type::now() ? std::optional(found->second) : std::nullopt;
}

void remember(moments& of, const std::string& origin, std::chrono::seconds for_so_long) {
    if (of.size() < most_remembered || of.contains(origin))
        of[origin] = clock_type::now() + for_so_long;
}

} // namespace

std::vector<std::string> mirrors_in_order(std::vector<std::string> urls) {
    const std::lock_guard hold(guard);
    std::vector<std::string> order;
    std::vector<std::string> last;
    for (std::string& url : urls)
        (in_future(unreachable_until, url) ? last : order).push_back(std::move(url));
    std::move(last.begin(), last.end(), std::back_inserter(order));
    return order;
}

bool mirror_unreachable(const std::string& origin) {
    const std::lock_guard hold(guard);
    const bool news = !in_future(unreachable_until, origin);
    remember(unreachable_until, origin, remembered_for);
    return news;
}

void mirror_busy(const std::string& origin, std::chrono::seconds wanted) {
    const std::lock_guard hold(guard);
    remember(busy_until, origin, std::min(wanted, longest_busy));
}

std::optional<clock_type::time_point> first_busy_until(const std::vector<std::string>& urls) {
    const std::lock_guard hold(guard);
    std::optional<clock_type::time_point> first;
    for (const std::string& url : urls)
        if (const auto until = in_future(busy_until, url); until && (!first || *until < *first))
            first = until;
    return first;
}

std::string below(const std::string& tree, const std::string& path) {
    return tree.ends_with('/') ? tree + path : tree + "/" + path;
}

} // namespace amd_gpu
