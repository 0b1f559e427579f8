// How a preparation ends: the four outcomes that are never mixed up. Shared by the agent and the plugin.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace amd_gpu {

enum class outcome {
    ready,
    job_fault,     ///< the request cannot be met here: wrong target, no such environment. The node stays in service
    node_fault,    ///< a GPU is proven bad: the node is drained
    service_fault, ///< neither's fault: disk, mirror, the agent itself. The site's policy decides
};

inline constexpr std::array<std::string_view, 4> outcome_names{"ready", "job_fault", "node_fault", "service_fault"};

constexpr std::string_view text_of(outcome how) {
    return outcome_names[static_cast<std::size_t>(how)];
}

constexpr std::optional<outcome> parse_outcome(std::string_view text) {
    for (std::size_t i = 0; i < outcome_names.size(); ++i)
        if (outcome_names[i] == text)
            return static_cast<outcome>(i);
    return std::nullopt;
}

} // namespace amd_gpu
