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

std::vector<granted_gcd> job_order(const std::vector<granted_gcd>& gcds, const std::vector<rank_place>& rows) {
    std::vector<bool> taken(gcds.size());
    std::vector<granted_gcd> ordered;
    bool more = true;
    for (std::size_t nth = 0; more; ++nth) {
        more = false;
        for (const auto& row : rows) {
            if (nth >= row.gcds.size())
                continue;
            more = true;
            const auto gcd = row.gcds[nth];
            if (!taken[gcd])
                ordered.push_back(gcds[gcd]);
            taken[gcd] = true;
        }
    }
    return ordered;
}

std::optional<std::string> rocr_mask(const std::vector<granted_gcd>& mine, const std::vector<granted_gcd>& open,
                                     device_fence fence) {
    const auto has_id = [](const granted_gcd& die) { return !die.unique_id.empty(); };
    if (std::all_of(mine.begin(), mine.end(), has_id))
        return joined(mine, [](const granted_gcd& die) { return "GPU-" + die.unique_id; });
    const auto has_position = [](const granted_gcd& die) { return die.position.has_value(); };
    if ((fence.others_open && fence.others_closed) || !std::all_of(open.begin(), open.end(), has_position))
        return std::nullopt;
    std::string list;
    for (const auto& die : mine) {
        if (!die.position)
            return std::nullopt;
        // The runtime lists the devices that it can open in the order of all.
        const auto place = fence.others_open ? static_cast<std::ptrdiff_t>(*die.position)
                                             : std::count_if(open.begin(), open.end(), [&](const granted_gcd& other) {
                                                   return *other.position < *die.position;
                                               });
        list += (list.empty() ? "" : ",") + std::to_string(place);
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
