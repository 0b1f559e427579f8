#include "spank/task.hpp"

#include <algorithm>

namespace amd_gpu {
namespace {

template<typename Text>
std::string joined(const std::vector<granted_gcd>& gcds, Text text) {
    std::string list;
    for (const auto& die : gcds)
        list += (list.empty() ? "" : ",") + text(die);
    return list;
}

} // namespace

std::vector<granted_gcd> share_of(const std::vector<granted_gcd>& usable, task_place place) {
    if (usable.empty() || place.tasks == 0 || place.local_id >= place.tasks)
        return usable;
    std::vector<granted_gcd> ordered = usable;
    std::sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    const uint64_t count = ordered.size();
    const auto first = static_cast<std::ptrdiff_t>(place.local_id * count / place.tasks);
    auto last = static_cast<std::ptrdiff_t>((place.local_id + 1ULL) * count / place.tasks);
    if (last == first)
        last = first + 1;
    return {ordered.begin() + first, ordered.begin() + last};
}

std::optional<std::string> rocr_mask(const std::vector<granted_gcd>& mine, const std::vector<granted_gcd>& openable) {
    const auto has_id = [](const granted_gcd& die) { return !die.unique_id.empty(); };
    if (std::all_of(mine.begin(), mine.end(), has_id))
        return joined(mine, [](const granted_gcd& die) { return "GPU-" + die.unique_id; });
    std::string list;
    for (const auto& die : mine) {
        const auto found = std::find(openable.begin(), openable.end(), die);
        if (found == openable.end())
            return std::nullopt;
        list += (list.empty() ? "" : ",") + std::to_string(found - openable.begin());
    }
    return list;
}

std::vector<edit> task_edits(const std::vector<granted_gcd>& mine, const std::optional<std::string>& mask,
                             const std::function<bool(const std::string&)>& is_set) {
    std::vector<edit> edits;
    const auto set = [&](const char* name, std::string value) {
        edits.push_back({edit::kind::set, name, std::move(value)});
    };
    set("SLURM_AMD_GPU_GCDS", joined(mine, [](const granted_gcd& die) { return std::to_string(die.index); }));
    set("SLURM_AMD_GPU_BDFS", joined(mine, [](const granted_gcd& die) { return die.bdf; }));
    set("SLURM_AMD_GPU_TARGETS", joined(mine, [](const granted_gcd& die) { return die.target; }));
    if (!mask)
        return edits;
    set("ROCR_VISIBLE_DEVICES", *mask);
    std::string positions;
    for (std::size_t i = 0; i < mine.size(); ++i)
        positions += (i == 0 ? "" : ",") + std::to_string(i);
    for (const char* layer : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"})
        if (is_set(layer))
            set(layer, positions);
    return edits;
}

} // namespace amd_gpu
