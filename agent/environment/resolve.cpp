// Which variant a set of devices gets, and the message for those who get none.
#include "environment/catalogue.hpp"

#include "environment/prefix.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace amd_gpu {

namespace {

error unknown_environment(const catalogue& from, const std::string& name) {
    if (from.empty())
        return {error_code::usage, "no environment " + quoted(name) + ": this site has defined none"};
    nearest_name nearest(name);
    std::vector<std::string_view> names;
    for (const auto& [known, definition] : from) {
        nearest.consider(known);
        names.push_back(known);
    }
    if (const auto best = nearest.best())
        return {error_code::usage, fmt::format("no environment {}; did you mean {}?", quoted(name), *best)};
    constexpr std::size_t shown = 8;
    const bool more = names.size() > shown;
    names.resize(std::min(names.size(), shown));
    return {error_code::usage, fmt::format("no environment {}; there are: {}{}", quoted(name), fmt::join(names, ", "),
                                           more ? ", ..." : "")};
}

std::string texts_of(const std::vector<target_id>& targets) {
    std::vector<std::string> texts;
    std::transform(targets.begin(), targets.end(), std::back_inserter(texts),
                   [](const target_id& target) { return target.text(); });
    return fmt::format("{}", fmt::join(texts, ","));
}

/// The targets of the variants that servers have; of the others none, so that no device fits them.
std::vector<std::vector<target_id>> only_substitutable(const std::vector<variant>& variants) {
    std::vector<std::vector<target_id>> targets;
    std::transform(variants.begin(), variants.end(), std::back_inserter(targets),
                   [](const variant& one) { return one.substitutable ? one.targets : std::vector<target_id>(); });
    return targets;
}

/// Takes the best of the variants that servers have, if one of them fits, in place of the best of all.
void prefer_substitutable(best_match& best, const best_match& had) {
    if (!had.chosen || had.chosen == best.chosen)
        return;
    std::erase_if(best.rejected, [&](const rejected_candidate& one) { return one.candidate == *had.chosen; });
    best.rejected.push_back({*best.chosen, "the site prefers what servers have"});
    best.chosen = had.chosen;
    best.how = had.how;
}

/// What a person can do who gets no variant for these devices.
std::string remedy(const environment& of, const std::vector<target_id>& devices) {
    std::set<std::string> processors;
    for (const target_id& device : devices)
        processors.insert(device.processor);
    std::string hint = "ask for nodes whose GPUs it fits";
    if (of.provider != "prefix")
        hint += fmt::format(", or have it realised: amd-gpu-agent realise {} --targets {}", of.name,
                            fmt::join(processors, ","));
    else if (processors.size() == 1)
        hint += ", or have it built in " + prefix_path(of, {.processor = *processors.begin()});
    return hint;
}

error no_variant(const environment& of, const std::vector<target_id>& devices,
                 const std::vector<std::string>& rejected) {
    std::string there = fmt::format("{}", fmt::join(rejected, ", "));
    if (rejected.empty())
        there = of.provider == "prefix" ? "no directory matches " + of.path : "none has been realised";
    return {error_code::usage, fmt::format("environment {} has no variant for {}: {}; {}", of.name, texts_of(devices),
                                           there, remedy(of, devices))};
}

} // namespace

result<environment> find_environment(const catalogue& from, const std::string& name) {
    const auto found = from.find(name);
    if (found == from.end())
        return unknown_environment(from, name);
    return found->second;
}

result<resolution> resolve(const environment& of, const std::vector<variant_candidate>& variants,
                           const std::vector<target_id>& devices) {
    if (devices.empty())
        return error{error_code::usage, "no GPU is known to choose a variant of " + of.name + " for"};
    const std::set<target_id> sorted(devices.begin(), devices.end());
    const std::vector<target_id> distinct(sorted.begin(), sorted.end());

    resolution answer;
    std::vector<variant> usable;
    std::vector<std::vector<target_id>> candidates;
    for (const variant_candidate& one : variants) {
        if (one.unusable.empty()) {
            usable.push_back(one.found);
            candidates.push_back(one.found.targets);
        } else {
            answer.rejected.push_back(fmt::format("{} ({})", texts_of(one.found.targets), one.unusable));
        }
    }
    best_match best = choose(candidates, distinct);
    if (of.prefer == preference::substitutable)
        prefer_substitutable(best, choose(only_substitutable(usable), distinct));
    for (const rejected_candidate& one : best.rejected)
        answer.rejected.push_back(fmt::format("{} ({})", texts_of(candidates[one.candidate]), one.reason));
    if (!best.chosen)
        return no_variant(of, distinct, answer.rejected);

    answer.chosen = usable[*best.chosen];
    answer.how = best.how;
    answer.explanation = fmt::format("{} <- variant {}", texts_of(distinct), texts_of(answer.chosen.targets));
    if (!answer.rejected.empty())
        answer.explanation += fmt::format("; rejected: {}", fmt::join(answer.rejected, ", "));
    return answer;
}

std::vector<edit> build_target_edits(const std::vector<target_id>& devices) {
    std::set<std::string> processors;
    for (const target_id& device : devices)
        processors.insert(device.processor);
    if (processors.empty())
        return {};
    // CMake lists are separated by semicolons, and so is PyTorch's; hipcc splits its variable at commas.
    const std::string list = fmt::format("{}", fmt::join(processors, ";"));
    return {{edit::kind::set, "AMDGPU_TARGETS", list},
            {edit::kind::set, "GPU_TARGETS", list},
            {edit::kind::set, "PYTORCH_ROCM_ARCH", list},
            {edit::kind::set, "HCC_AMDGPU_TARGET", fmt::format("{}", fmt::join(processors, ","))}};
}

} // namespace amd_gpu
