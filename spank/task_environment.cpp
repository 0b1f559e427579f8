#include "spank/task_environment.hpp"

namespace amd_gpu {

std::optional<std::string> task_variable(spank_t spank, const std::string& name) {
    // Made once: an activation asks for hundreds of variables, one callback after the other.
    static std::string buffer(longest_variable, '\0');
    if (spank_getenv(spank, name.c_str(), buffer.data(), static_cast<int>(buffer.size())) != ESPANK_SUCCESS)
        return std::nullopt;
    return std::string(buffer.c_str());
}

std::vector<std::string> apply_to_task(spank_t spank, const std::vector<edit>& edits) {
    std::vector<std::string> failed;
    for (const auto& change : edits) {
        const auto current = task_variable(spank, change.name);
        const auto wanted = applied(change, current);
        if (too_long(change, current))
            failed.push_back(change.name);
        if (wanted == current)
            continue;
        const auto done = wanted ? spank_setenv(spank, change.name.c_str(), wanted->c_str(), 1)
                                 : spank_unsetenv(spank, change.name.c_str());
        if (done != ESPANK_SUCCESS)
            failed.push_back(change.name);
    }
    return failed;
}

} // namespace amd_gpu
