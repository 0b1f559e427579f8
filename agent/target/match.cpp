// The loader's rules, and the choice among variants built on them.
#include "target/match.hpp"

#include <algorithm>

namespace amd_gpu {
namespace {

// What kind of code the built target is for the device's processor, modes aside: none, generic, or exact.
fit processor_fit(const target_id& built, const target_id& device) {
    if (built.processor == device.processor) {
        return fit::exact;
    }
    const auto covered = covered_by(built.processor);
    return std::ranges::find(covered, device.processor) != covered.end() ? fit::generic : fit::none;
}

// Why code built for one mode of a feature does not run on a device; empty when it does.
std::string mode_differs(std::string_view feature, feature_mode built, bool supported, feature_mode device) {
    const std::string name(feature);
    if (built == feature_mode::any || (supported && built == device)) {
        return {};
    }
    if (!supported) {
        return "device has no " + name;
    }
    if (device == feature_mode::any) {
        return "the device's " + name + " mode is not known";
    }
    return "device has " + name + (device == feature_mode::on ? "+" : "-");
}

// The best that the targets of one candidate have for one device.
target_match best_for(const std::vector<target_id>& candidate, const target_id& device) {
    target_match best{fit::none, "processor differs"};
    std::string modes; // what failed by its mode alone says more than all the others
    for (const target_id& built : candidate) {
        target_match one = match_target(built, device);
        if (one.how > best.how) {
            best = std::move(one);
        } else if (one.how == fit::none && processor_fit(built, device) != fit::none) {
            modes +=
                (modes.empty() ? "" : ", ") + (candidate.size() == 1 ? one.reason : built.text() + ": " + one.reason);
        }
    }
    if (best.how == fit::none && !modes.empty()) {
        best.reason = std::move(modes);
    }
    return best;
}

// The worst over the devices of what a candidate has for each.
target_match fit_of(const std::vector<target_id>& candidate, const std::vector<target_id>& devices) {
    if (candidate.empty()) {
        return {fit::none, "built for no target"};
    }
    target_match worst{fit::exact, {}};
    for (const target_id& device : devices) {
        target_match one = best_for(candidate, device);
        if (one.how == fit::none) {
            return {fit::none, devices.size() == 1 ? one.reason : device.text() + ": " + one.reason};
        }
        worst.how = std::min(worst.how, one.how);
    }
    return worst;
}

// Why a candidate that fits lost against the chosen one.
std::string second_best(fit how, std::size_t targets, fit chosen, std::size_t targets_of_chosen) {
    if (how < chosen) {
        return "fits (" + std::string(name_of(how)) + "), but the chosen one fits better (" +
               std::string(name_of(chosen)) + ")";
    }
    return targets > targets_of_chosen ? "fits as well, but is built for more targets"
                                       : "fits as well, but comes later";
}

} // namespace

std::string_view name_of(fit how) {
    switch (how) {
    case fit::generic:
        return "generic";
    case fit::any_mode:
        return "any mode";
    case fit::exact:
        return "exact";
    case fit::none:
        break;
    }
    return "none";
}

target_match match_target(const target_id& built, const target_id& device) {
    const fit how = processor_fit(built, device);
    if (how == fit::none) {
        return {how, "processor differs"};
    }
    const processor* known = find_processor(device.processor);
    const bool sramecc = known != nullptr && known->has_sramecc;
    const bool xnack = known != nullptr && known->has_xnack;
    if (std::string wrong = mode_differs("sramecc", built.sramecc, sramecc, device.sramecc); !wrong.empty()) {
        return {fit::none, std::move(wrong)};
    }
    if (std::string wrong = mode_differs("xnack", built.xnack, xnack, device.xnack); !wrong.empty()) {
        return {fit::none, std::move(wrong)};
    }
    const bool has_modes = sramecc || xnack;
    const bool names_one = built.sramecc != feature_mode::any || built.xnack != feature_mode::any;
    return {how == fit::exact && has_modes && !names_one ? fit::any_mode : how, {}};
}

best_match choose(const std::vector<std::vector<target_id>>& candidates, const std::vector<target_id>& devices) {
    best_match best;
    if (devices.empty()) {
        return best;
    }
    std::vector<target_match> fits;
    fits.reserve(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const fit how = fits.emplace_back(fit_of(candidates[i], devices)).how;
        const bool better = how > best.how ||
                            (how == best.how && best.chosen && candidates[i].size() < candidates[*best.chosen].size());
        if (how != fit::none && better) {
            best.chosen = i;
            best.how = how;
        }
    }
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (i == best.chosen) {
            continue;
        }
        std::string why = std::move(fits[i].reason);
        if (fits[i].how != fit::none) {
            why = second_best(fits[i].how, candidates[i].size(), best.how, candidates[*best.chosen].size());
        }
        best.rejected.push_back({i, std::move(why)});
    }
    return best;
}

} // namespace amd_gpu
