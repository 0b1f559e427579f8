#include "environment/mirror_order.hpp"

#include "system/download.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace amd_gpu {

namespace {

using clock_type = deadline::clock;

constexpr auto remembered_for = std::chrono::seconds(60);
constexpr std::size_t most_remembered = 1000;

std::mutex guard;
std::map<std::string, clock_type::time_point> unreachable_until; // by origin

bool is_unreachable(const std::string& url) {
    const auto found = unreachable_until.find(origin_of(url));
    return found != unreachable_until.end() && found->second > clock_type::now();
}

} // namespace

std::vector<std::string> mirrors_in_order(std::vector<std::string> urls) {
    const std::lock_guard hold(guard);
    std::vector<std::string> order;
    std::vector<std::string> last;
    for (std::string& url : urls)
        (is_unreachable(url) ? last : order).push_back(std::move(url));
    std::move(last.begin(), last.end(), std::back_inserter(order));
    return order;
}

bool mirror_unreachable(const std::string& origin) {
    const std::lock_guard hold(guard);
    const bool news = !is_unreachable(origin);
    if (unreachable_until.size() < most_remembered || unreachable_until.contains(origin))
        unreachable_until[origin] = clock_type::now() + remembered_for;
    return news;
}

std::string below(const std::string& tree, const std::string& path) {
    return tree.ends_with('/') ? tree + path : tree + "/" + path;
}

} // namespace amd_gpu
