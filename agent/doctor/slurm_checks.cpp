#include "doctor/slurm_checks.hpp"

#include "doctor/plugin_file.hpp"
#include "ranges.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

using enum step::state;

bool contains_item(const slurm_settings& slurm, const std::string& name, std::string_view item) {
    const auto found = slurm.find(name);
    if (found == slurm.end())
        return false;
    const auto items = split(found->second, ',');
    return std::any_of(items.begin(), items.end(), [item](const std::string& one) { return trimmed(one) == item; });
}

/// Lines without comments and surrounding white space; empty ones are left out.
std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    for (const std::string& raw : split(text, '\n'))
        if (const auto line = trimmed(std::string_view(raw).substr(0, raw.find('#'))); !line.empty())
            lines.emplace_back(line);
    return lines;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& letter : result)
        if (letter >= 'A' && letter <= 'Z')
            letter = static_cast<char>(letter - 'A' + 'a');
    return result;
}

} // namespace

slurm_settings slurm_settings_in(std::string_view output) {
    slurm_settings found;
    for (const std::string& line : split(output, '\n')) {
        const auto equals = line.find('=');
        if (equals == std::string::npos)
            continue;
        const auto value = trimmed(std::string_view(line).substr(equals + 1));
        found.emplace(trimmed(std::string_view(line).substr(0, equals)), value == "(null)" ? "" : value);
    }
    return found;
}

std::optional<plugin_line> plugin_line_in(std::string_view plugstack) {
    constexpr std::string_view space = " \t";
    for (const std::string& line : lines_of(plugstack)) {
        const auto word_end = line.find_first_of(space);
        if (word_end == std::string::npos)
            continue;
        const auto start = line.find_first_not_of(space, word_end);
        const auto path = line.substr(start, line.find_first_of(space, start) - start);
        const std::string word = line.substr(0, word_end);
        if (path.substr(path.rfind('/') + 1) == "amd_gpu.so" && (word == "required" || word == "optional"))
            return plugin_line{word == "required", path};
    }
    return std::nullopt;
}

std::string with_includes(std::string_view plugstack, const include_reader& read, int depth) {
    constexpr std::string_view word = "include";
    std::string all;
    for (const std::string& line : lines_of(plugstack)) {
        const auto pattern = line.starts_with(word) ? trimmed(std::string_view(line).substr(word.size())) : "";
        const auto text = pattern.empty() || depth == 0 ? std::nullopt : read(std::string(pattern));
        all += text ? with_includes(*text, read, depth - 1) : line + "\n";
    }
    return all;
}

step check_prolog_flags(const slurm_settings& slurm) {
    const auto flags = slurm.find("PrologFlags");
    if (flags == slurm.end())
        return {unknown, "prolog", "Slurm does not say its PrologFlags", ""};
    const std::string shown = flags->second.empty() ? "PrologFlags is not set" : "PrologFlags=" + flags->second;
    if (contains_item(slurm, "PrologFlags", "RunInJob"))
        return {wrong, "prolog", shown + ": with RunInJob Slurm never calls the plugin's prolog",
                "take RunInJob out of PrologFlags in slurm.conf"};
    if (!contains_item(slurm, "PrologFlags", "Alloc"))
        return {wrong, "prolog", shown + ": without Alloc the prolog runs only when the first step comes",
                "set PrologFlags=Alloc,DeferBatch in slurm.conf"};
    if (!contains_item(slurm, "PrologFlags", "DeferBatch"))
        return {wrong, "prolog", shown + ": without DeferBatch a batch script starts while nodes are still tested",
                "set PrologFlags=Alloc,DeferBatch in slurm.conf"};
    return {ok, "prolog", shown, ""};
}

step check_gres_types(const slurm_settings& slurm) {
    if (!slurm.contains("GresTypes"))
        return {unknown, "gres", "Slurm does not say its GresTypes", ""};
    if (!contains_item(slurm, "GresTypes", "gpu"))
        return {warning, "gres", "Slurm does not count GPUs (GresTypes has no gpu)",
                "set GresTypes=gpu, or gpus_without_gres = \"exclusive_nodes\" in amd-gpu.toml"};
    return {ok, "gres", "Slurm counts GPUs", ""};
}

step check_fence(const slurm_settings& slurm, const std::optional<std::string>& cgroup_conf) {
    if (!slurm.contains("TaskPlugin") || !cgroup_conf)
        return {unknown, "fence", "TaskPlugin or cgroup.conf cannot be read", ""};
    bool constrained = false;
    for (const std::string& line : lines_of(*cgroup_conf))
        if (const auto equals = line.find('='); equals != std::string::npos)
            if (lower(trimmed(std::string_view(line).substr(0, equals))) == "constraindevices")
                constrained = lower(trimmed(std::string_view(line).substr(equals + 1))) == "yes";
    if (contains_item(slurm, "TaskPlugin", "task/cgroup") && constrained)
        return {ok, "fence", "jobs can open their own GPUs only", ""};
    return {warning, "fence", "jobs can open the GPUs of other jobs",
            "set TaskPlugin=task/cgroup in slurm.conf and ConstrainDevices=yes in cgroup.conf"};
}

step check_tracking(const slurm_settings& slurm) {
    const auto type = slurm.find("ProctrackType");
    if (type == slurm.end())
        return {unknown, "tracking", "Slurm does not say its ProctrackType", ""};
    if (type->second == "proctrack/cgroup")
        return {ok, "tracking", "Slurm finds all processes of a job at its end", ""};
    return {warning, "tracking",
            fmt::format("ProctrackType={}: a process that a job leaves behind goes on using its GPUs", type->second),
            "set ProctrackType=proctrack/cgroup in slurm.conf"};
}

step check_prolog_time(const slurm_settings& slurm, std::chrono::milliseconds preparation) {
    const auto set = slurm.find("PrologEpilogTimeout");
    if (set == slurm.end())
        return {unknown, "time", "Slurm does not say its PrologEpilogTimeout", ""};
    // Slurm prints 65534, its NO_VAL16 (slurm.h), for no limit, and some releases a unit behind the number.
    const auto seconds = parse_decimal(set->second.substr(0, set->second.find(' ')));
    if (!seconds || *seconds >= 65534)
        return {ok, "time", "PrologEpilogTimeout is not set: the prolog has no limit", ""};
    // The plugin keeps a fifth of it for itself.
    const auto left = std::chrono::milliseconds(800ULL * *seconds);
    const auto in_seconds = [](std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000.0; };
    if (left < preparation)
        return {warning, "time",
                fmt::format("PrologEpilogTimeout={} leaves {:g} s to prepare a job, which may take {:g} s", *seconds,
                            in_seconds(left), in_seconds(preparation)),
                fmt::format("set PrologEpilogTimeout={} in slurm.conf, or shorter deadlines in amd-gpu.toml",
                            preparation.count() / 800 + 1)};
    return {ok, "time", fmt::format("PrologEpilogTimeout={}", *seconds), ""};
}

step check_plugin(const slurm_settings& slurm, const std::optional<std::string>& plugstack,
                  const std::optional<bool>& file_exists, const std::optional<uint32_t>& built_for) {
    if (!plugstack)
        return {unknown, "plugin", "plugstack.conf cannot be read", ""};
    const auto line = plugin_line_in(*plugstack);
    if (!line) {
        const auto lines = lines_of(*plugstack);
        if (std::any_of(lines.begin(), lines.end(), [](const auto& one) { return one.starts_with("include"); }))
            return {unknown, "plugin", "plugstack.conf includes files that cannot be read", ""};
        return {wrong, "plugin", "plugstack.conf does not load amd_gpu.so",
                "add the line \"optional amd_gpu.so\" on submit hosts and nodes and restart slurmd"};
    }
    if (!file_exists)
        return {unknown, "plugin", "whether " + line->path + " is there cannot be told", ""};
    if (!*file_exists)
        return {wrong, "plugin", "plugstack.conf names " + line->path + ", which is not there",
                "install the package on this host, too"};
    const auto version = slurm.find("SLURM_VERSION");
    if (built_for && version != slurm.end() && !version->second.starts_with(release_text(*built_for) + "."))
        return {
            wrong, "plugin",
            fmt::format("{} was built for Slurm {}, this is {}", line->path, release_text(*built_for), version->second),
            "install the package for this release of Slurm on every host, then restart slurmd"};
    if (line->required)
        return {warning, "plugin", line->path + " is required: a host without the file can submit no job at all",
                "write optional in place of required"};
    return {ok, "plugin", "plugstack.conf loads " + line->path, ""};
}

std::optional<step> check_gres_conf(std::string_view gres_conf) {
    // What the releases of Slurm know together; slurm.conf(5), gres.conf(5).
    constexpr std::array ways = {"nvml", "nvidia", "nrt", "oneapi", "rsmi", "off"};
    for (const std::string& line : lines_of(gres_conf)) {
        const auto words = split(line, ' ');
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string word = lower(words[i]);
            if (word.starts_with("file=") && word.ends_with(',') && i + 1 < words.size())
                return step{wrong, "gres", "gres.conf has a space in a list of files: " + line,
                            "take the space out: Slurm ends the list there"};
            constexpr std::string_view detect = "autodetect=";
            if (!word.starts_with(detect))
                continue;
            const std::string way = word.substr(detect.size());
            if (std::find(ways.begin(), ways.end(), way) == ways.end())
                return step{wrong, "gres", "gres.conf: Slurm knows no AutoDetect=" + way,
                            "for AMD GPUs it is AutoDetect=rsmi; amd-gpu-agent slurm-config prints lines without it"};
        }
    }
    return std::nullopt;
}

std::optional<slurm_node> slurm_node_in(std::string_view output) {
    if (output.find("NodeName=") == std::string_view::npos)
        return std::nullopt;
    slurm_node found;
    for (const std::string& raw : split(output, '\n')) {
        const auto line = trimmed(raw);
        const auto value = [line](std::string_view name) {
            const auto text = line.substr(name.size());
            return std::string(text == "(null)" ? "" : text);
        };
        if (line.starts_with("Gres="))
            found.gres = value("Gres=");
        else if (line.starts_with("State="))
            found.state = value("State=").substr(0, line.find(' ') - std::string_view("State=").size());
        else if (line.starts_with("Reason="))
            found.reason = value("Reason=");
    }
    return found;
}

std::optional<uint32_t> gpus_in_gres(std::string_view gres) {
    uint64_t count = 0;
    std::string flat;
    // "(S:0,2)" are sockets, whose comma separates no items.
    int depth = 0;
    for (const char letter : gres) {
        depth += letter == '(' ? 1 : 0;
        if (depth == 0)
            flat += letter;
        depth -= letter == ')' ? 1 : 0;
    }
    for (const std::string& item : split(flat, ',')) {
        const auto parts = split(item, ':');
        if (parts.front() != "gpu")
            continue;
        const auto number = parts.size() == 1 ? std::optional(1U) : parse_decimal(parts.back());
        if (!number)
            return std::nullopt;
        count += *number;
    }
    return count <= 4096 ? std::optional(static_cast<uint32_t>(count)) : std::nullopt;
}

step check_gres_count(const std::optional<slurm_node>& in_slurm, const node& here) {
    if (!in_slurm)
        return {unknown, "count", "Slurm does not know this host as a node, or does not say", ""};
    const auto counted = gpus_in_gres(in_slurm->gres);
    if (!counted)
        return {unknown, "count", "Slurm says of this node's GPUs: " + in_slurm->gres, ""};
    for (const std::string& item : split(in_slurm->gres, ','))
        if (const auto parts = split(item, ':'); parts.size() == 3 && parts[0] == "gpu" && parse_decimal(parts[1]))
            return {wrong, "count", fmt::format("Slurm takes the number {} for a type of GPU: {}", parts[1], item),
                    "write Name=gpu and Count= in gres.conf as amd-gpu-agent slurm-config prints them"};
    const auto there = std::max(here.sources.pci.value_or(0), here.sources.kfd.value_or(0));
    if (*counted == there)
        return {ok, "count", fmt::format("Slurm counts {} GPUs here", *counted), ""};
    return {warning, "count", fmt::format("Slurm counts {} GPUs here, this node has {} of AMD's", *counted, there),
            "compare gres.conf and the node's Gres= with what amd-gpu-agent slurm-config prints"};
}

std::optional<step> check_node_state(const std::optional<slurm_node>& in_slurm) {
    if (!in_slurm)
        return std::nullopt;
    for (const char* closed : {"DRAIN", "DOWN", "FAIL", "INVAL"})
        if (in_slurm->state.find(closed) != std::string::npos)
            return step{warning, "state",
                        fmt::format("Slurm gives no work to this node ({}{}{})", in_slurm->state,
                                    in_slurm->reason.empty() ? "" : ": ", in_slurm->reason),
                        "mend what the reason says, then: scontrol update NodeName=... State=RESUME"};
    return std::nullopt;
}

step check_gres_order(const std::vector<const gcd*>& order) {
    if (order.empty())
        return {unknown, "order", "slurmd names no GPUs", ""};
    std::vector<uint32_t> indices;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] == nullptr)
            return {warning, "order", fmt::format("Slurm's GPU {} is no GCD of this node that its driver drives", i),
                    "compare the File= of gres.conf with what amd-gpu-agent slurm-config prints"};
        indices.push_back(order[i]->index);
    }
    return {ok, "order",
            std::is_sorted(indices.begin(), indices.end())
                ? "Slurm counts the GPUs in the order of their addresses"
                : fmt::format("Slurm's GPUs in its order are the GCDs {}", fmt::join(indices, ",")),
            ""};
}

} // namespace amd_gpu
