#include "placement/visibility.hpp"

#include "ranges.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace amd_gpu {
namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

/// Whether `entry` is "GPU-" and the beginning of an id.
bool names_id(std::string_view entry, const std::string& id) {
    constexpr std::string_view prefix = "GPU-";
    if (!entry.starts_with(prefix) || entry.size() == prefix.size() || entry.size() - prefix.size() > id.size())
        return false;
    entry.remove_prefix(prefix.size());
    return std::equal(entry.begin(), entry.end(), id.begin(),
                      [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

/// One layer: the positions that a list names among `devices`, which are what the layer below leaves over.
std::vector<std::size_t> filtered(const std::vector<std::size_t>& devices, const char* name, const std::string& value,
                                  const std::vector<std::string>* ids, std::vector<std::string>& problems) {
    std::vector<std::size_t> kept;
    const auto stops = [&](std::string_view entry, const std::string& why) {
        problems.push_back(std::string(name) + "=" + value + ": \"" + std::string(entry) + "\" " + why +
                           "; the list ends there");
        return kept;
    };
    std::string_view rest = value;
    for (bool more = !trimmed(rest).empty(); more;) {
        const auto comma = rest.find(',');
        const auto entry = trimmed(rest.substr(0, comma));
        more = comma != std::string_view::npos;
        if (more)
            rest.remove_prefix(comma + 1);
        if (entry == "-1" && kept.empty())
            return kept; // the written form of "none"
        std::optional<std::size_t> found;
        if (const auto number = parse_decimal(entry)) {
            if (*number < devices.size())
                found = devices[*number];
        } else if (ids != nullptr) {
            const auto same = [&](std::size_t device) { return names_id(entry, (*ids)[device]); };
            if (std::count_if(devices.begin(), devices.end(), same) == 1)
                found = *std::find_if(devices.begin(), devices.end(), same);
        }
        if (!found)
            return stops(entry, "is none of the " + std::to_string(devices.size()) + " devices here");
        if (std::find(kept.begin(), kept.end(), *found) != kept.end())
            return stops(entry, "is there twice");
        kept.push_back(*found);
    }
    return kept;
}

} // namespace

visible_devices visible(const visibility_variables& variables, const std::vector<std::string>& ids) {
    visible_devices seen;
    seen.devices.resize(ids.size());
    std::iota(seen.devices.begin(), seen.devices.end(), std::size_t{0});
    const auto apply = [&](const char* name, const std::string& value, const std::vector<std::string>* by_id) {
        const bool had = !seen.devices.empty();
        seen.devices = filtered(seen.devices, name, value, by_id, seen.problems);
        if (had && seen.devices.empty())
            seen.problems.push_back(std::string(name) + "=" + value + " leaves no GPU over");
    };
    if (variables.rocr)
        apply("ROCR_VISIBLE_DEVICES", *variables.rocr, &ids);
    const auto after_rocr = seen.devices;
    // An empty list of HIP's is the same as none, unlike one of ROCR's.
    const auto given = [](const std::optional<std::string>& value) { return value && !value->empty(); };
    if (given(variables.hip))
        apply("HIP_VISIBLE_DEVICES", *variables.hip, &ids);
    else if (given(variables.cuda))
        apply("CUDA_VISIBLE_DEVICES", *variables.cuda, &ids);
    if (given(variables.ordinal)) // for OpenCL alone: what it names is checked, and HIP's devices stay
        filtered(after_rocr, "GPU_DEVICE_ORDINAL", *variables.ordinal, nullptr, seen.problems);
    return seen;
}

visibility_variables visibility_of(const std::function<std::optional<std::string>(const std::string&)>& read) {
    return {read("ROCR_VISIBLE_DEVICES"), read("HIP_VISIBLE_DEVICES"), read("CUDA_VISIBLE_DEVICES"),
            read("GPU_DEVICE_ORDINAL")};
}

} // namespace amd_gpu
