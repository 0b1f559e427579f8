#include "doctor/hip_checks.hpp"

#include "node/process_target.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace amd_gpu {
namespace {

using nlohmann::json;
using enum step::state;

std::string text_field(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string described(const hip_view& hip) {
    return fmt::format("HIP{} ({})", hip.version ? " " + hip_version_text(*hip.version) : "", hip.library);
}

std::string processor_of(const std::string& target) {
    return target.substr(0, target.find(':'));
}

std::string joined(const std::set<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace

std::optional<hip_view> parse_hip_view(std::string_view output) {
    hip_view found;
    bool understood = false;
    for (const std::string& line : split(output, '\n')) {
        const json object = json::parse(line, nullptr, false);
        if (!object.is_object())
            continue;
        const std::string type = text_field(object, "type");
        if (type == "runtime") {
            found.library = text_field(object, "hip");
            // Until the devices come.
            found.failure = "HIP does not answer";
        } else if (type == "error") {
            found.failure = text_field(object, "text");
        } else if (type == "devices") {
            const auto list = object.find("devices");
            const auto version = object.find("runtime_version");
            if (list == object.end() || !list->is_array())
                return std::nullopt;
            for (const json& one : *list)
                if (one.is_object())
                    found.devices.push_back({text_field(one, "bdf"), text_field(one, "target")});
            if (version != object.end() && version->is_number_unsigned())
                found.version = version->get<uint32_t>();
            found.failure.clear();
        } else {
            continue;
        }
        understood = true;
    }
    return understood ? std::optional(std::move(found)) : std::nullopt;
}

std::string hip_version_text(uint32_t version) {
    return fmt::format("{}.{}.{}", version / 10000000, version / 100000 % 100, version % 100000);
}

step check_hip(const std::optional<hip_view>& mine, const std::optional<hip_view>& plain) {
    if (!mine)
        return {unknown, "hip", "amd-gpu-probe cannot be asked what HIP lists", ""};
    const bool plain_works = plain && plain->failure.empty() && !plain->devices.empty();
    if (mine->library.empty() && !plain_works)
        return {warning, "hip", mine->failure, "install a HIP runtime, or name its file as hip_library in [probe]"};
    if (!mine->failure.empty() || mine->devices.empty()) {
        const std::string what = mine->failure.empty() ? described(*mine) + " lists no GPU" : mine->failure;
        if (plain_works)
            return {wrong, "hip",
                    fmt::format("{}; without this process's variables it lists {}", what, plain->devices.size()),
                    "look at LD_LIBRARY_PATH and the variables that begin with ROCR_, HIP_, CUDA_ and HSA_"};
        return {wrong, "hip", what, "the driver and this runtime do not go together, or the GPUs are in trouble"};
    }
    std::string text = fmt::format("{} lists {} GPUs", described(*mine), mine->devices.size());
    if (plain_works && plain->devices.size() > mine->devices.size())
        text += fmt::format(", variables hide {}", plain->devices.size() - mine->devices.size());
    if (plain_works && plain->library != mine->library)
        text += ", in place of this node's " + described(*plain);
    return {ok, "hip", text, ""};
}

std::vector<step> check_overrides(const environment_variables& variables, const node& here,
                                  const std::optional<hip_view>& mine) {
    std::set<std::string> real;
    std::set<std::string> taken;
    for (const gcd& die : here.gcds) {
        if (!die.target)
            continue;
        real.insert(die.target->processor);
        for (const hip_device& one : mine ? mine->devices : std::vector<hip_device>())
            if (one.bdf == die.bdf.text() && !one.target.empty() && processor_of(one.target) != die.target->processor)
                taken.insert(processor_of(one.target));
    }
    std::string effect;
    if (!real.empty())
        effect =
            fmt::format(" (really {}{})", joined(real), taken.empty() ? "" : "; HIP takes them for " + joined(taken));
    std::vector<step> steps;
    for (const auto& [name, value] : variables)
        // The runtime also has numbered names, one for each GPU, whose effect differs between its releases.
        if (name == "HSA_OVERRIDE_GFX_VERSION" || name.starts_with("HSA_OVERRIDE_GFX_VERSION_"))
            steps.push_back({warning, "override", name + "=" + value + " hides what the GPUs are" + effect,
                             "unset " + name + ": AMD's datacenter GPUs do not need it"});
    return steps;
}

std::optional<step> check_xnack(const environment_variables& variables, const node& here) {
    const auto set = variables.find("HSA_XNACK");
    const std::string value = set == variables.end() ? "" : set->second;
    // The runtime reads 0 and 1 and takes anything else for no wish.
    const auto wish = value == "0" || value == "1" ? std::optional(value == "1") : std::nullopt;
    std::set<std::string> modes;
    bool unheeded = false;
    for (const gcd& die : here.gcds) {
        const auto target = process_target(die, wish);
        if (!die.xnack || !target)
            continue;
        modes.insert(target->text());
        unheeded = unheeded || (wish && target->xnack != (*wish ? feature_mode::on : feature_mode::off));
    }
    if (modes.empty())
        return std::nullopt;
    const std::string shown = set == variables.end() ? "HSA_XNACK is not set" : "HSA_XNACK=" + value;
    if (set != variables.end() && !wish)
        return step{warning, "xnack", shown + " means nothing to the runtime: processes run as " + joined(modes),
                    "set HSA_XNACK to 0 or 1, or unset it"};
    if (unheeded)
        return step{warning, "xnack", shown + ", but the mode cannot be chosen here: processes run as " + joined(modes),
                    "unset HSA_XNACK and use software that is built for this mode or for any"};
    if (modes.size() > 1 && !wish)
        return step{warning, "xnack", shown + ", and the GPUs differ: processes run as " + joined(modes),
                    "set HSA_XNACK to 0 or 1 where the GPUs let a process choose"};
    return step{ok, "xnack", fmt::format("processes run as {} ({})", joined(modes), shown), ""};
}

std::optional<step> check_library_path(const std::vector<library_directory>& directories) {
    std::map<std::string, std::vector<std::string>> places;
    for (const auto& directory : directories)
        for (const std::string& library : directory.libraries) {
            auto& known = places[library];
            if (std::find(known.begin(), known.end(), directory.path) == known.end())
                known.push_back(directory.path);
        }
    for (const auto& [library, paths] : places)
        if (paths.size() > 1)
            return step{
                warning, "libraries",
                fmt::format("LD_LIBRARY_PATH leads to {} of more than one ROCm: {}", library, fmt::join(paths, ", ")),
                "keep one of them: unload the module or the environment of the other"};
    if (places.empty())
        return std::nullopt;
    return step{ok, "libraries", "LD_LIBRARY_PATH leads to one ROCm: " + places.begin()->second.front(), ""};
}

} // namespace amd_gpu
