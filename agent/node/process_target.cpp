#include "node/process_target.hpp"

#include <algorithm>

namespace amd_gpu {

std::optional<bool> asked_xnack(const std::vector<target_id>& accepted) {
    if (accepted.empty() || accepted.front().xnack == feature_mode::any)
        return std::nullopt;
    const auto first = accepted.front().xnack;
    const bool agreed =
        std::all_of(accepted.begin(), accepted.end(), [&](const target_id& one) { return one.xnack == first; });
    return agreed ? std::optional(first == feature_mode::on) : std::nullopt;
}

std::optional<bool> needed_xnack(const gcd& die, std::optional<bool> wish) {
    const bool free_to_choose = die.xnack_selectable.value_or(false);
    return wish && free_to_choose && die.xnack != wish ? wish : std::nullopt;
}

std::optional<target_id> process_target(const gcd& die, std::optional<bool> wish) {
    auto target = die.default_target();
    if (const auto mode = needed_xnack(die, wish); target && mode)
        target->xnack = *mode ? feature_mode::on : feature_mode::off;
    return target;
}

} // namespace amd_gpu
