#include "commands/slurm_config_text.hpp"

#include "ranges.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>

namespace amd_gpu {
namespace {

/// A name that Slurm takes for a GRES type or a feature: small letters, digits and "_".
std::string slurm_name(std::string_view text) {
    std::string name;
    for (const char letter : text) {
        const auto c = static_cast<unsigned char>(letter);
        name += c < 0x80 && std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
    }
    return name;
}

std::string type_of(const gcd& die) {
    return die.model ? slurm_name(*die.model) : die.target ? slurm_name(die.target->processor) : "";
}

/// Slurm's numbers of the cores of the NUMA node that a GCD is in; empty when they are not known.
std::vector<uint32_t> cores_near(const gcd& die, const node& what, const std::vector<slurm_core>& cores) {
    std::set<uint32_t> cpus(die.cores.begin(), die.cores.end());
    for (const auto& other : what.gcds)
        if (die.numa && other.numa == die.numa)
            cpus.insert(other.cores.begin(), other.cores.end());
    std::vector<uint32_t> near;
    for (uint32_t i = 0; i < cores.size(); ++i)
        if (std::any_of(cores[i].cpus.begin(), cores[i].cpus.end(), [&](uint32_t cpu) { return cpus.contains(cpu); }))
            near.push_back(i);
    return near;
}

/// Whether a list of cores ends inside of a processor.
bool cuts_a_package(const std::vector<uint32_t>& near, const std::vector<slurm_core>& cores) {
    std::map<uint32_t, std::size_t> left;
    for (const auto& core : cores)
        ++left[core.package];
    std::set<uint32_t> touched;
    for (const auto i : near) {
        --left[cores[i].package];
        touched.insert(cores[i].package);
    }
    return std::any_of(touched.begin(), touched.end(), [&](uint32_t package) { return left[package] > 0; });
}

/// "4,-1,1,0": links to each GPU in Slurm's order, -1 to itself (gres.conf(5), "Links").
std::string links_from(const gcd& die, const std::vector<const gcd*>& order, const node& what) {
    std::vector<std::string> numbers;
    for (const gcd* other : order) {
        const link* joined = find_link(what, die.index, other->index);
        const bool xgmi = joined != nullptr && joined->type == "xgmi";
        numbers.push_back(other == &die ? "-1" : xgmi ? std::to_string(joined->links.value_or(1)) : "0");
    }
    return fmt::format("{}", fmt::join(numbers, ","));
}

/// What slurm.conf says of the node: its GPUs by type, and features to choose it by.
std::string node_line(const std::vector<const gcd*>& order, const std::string& name) {
    std::map<std::string, std::size_t> types;
    std::set<std::string> features = {"amdgpu"};
    for (const gcd* die : order) {
        ++types[type_of(*die)];
        for (const auto& feature : {type_of(*die), die->target ? slurm_name(die->target->processor) : ""})
            if (!feature.empty())
                features.insert(feature);
    }
    std::vector<std::string> gres;
    for (const auto& [type, count] : types)
        gres.push_back(fmt::format("gpu:{}:{}", type, count));
    return fmt::format("#   NodeName={} Gres={} Feature={}\n", name, fmt::join(gres, ","), fmt::join(features, ","));
}

} // namespace

result<std::string> slurm_config(const node& what, const std::vector<slurm_core>& cores, const std::string& name) {
    std::string left_out;
    std::vector<const gcd*> order;
    for (const auto& die : what.gcds) {
        if (die.kind == gpu_kind::integrated)
            left_out += fmt::format("# {}: the graphics unit of a processor, left out\n", die.id().text());
        else if (!die.bound)
            left_out +=
                fmt::format("# {}: MISSING: no driver is bound to it; mend that and run this again\n", die.id().text());
        else if (!die.render_minor)
            return error{error_code::unsupported,
                         die.id().text() +
                             ": its device file /dev/dri/renderD<N> is not known; see discover --explain"};
        else if (type_of(die).empty())
            return error{error_code::unsupported, die.id().text() + ": neither its model nor its processor is known"};
        else
            order.push_back(&die);
    }
    if (order.empty())
        return error{error_code::unsupported,
                     fmt::format("this node has no AMD GPU that Slurm could give to a job ({} on PCI)",
                                 what.sources.pci ? std::to_string(*what.sources.pci) : "an unknown number")};
    std::sort(order.begin(), order.end(), [](const gcd* a, const gcd* b) { return a->render_minor < b->render_minor; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (order[i]->render_minor == order[i - 1]->render_minor)
            return error{error_code::unsupported, fmt::format("{} and {} name the same device file",
                                                              order[i - 1]->id().text(), order[i]->id().text())};

    std::vector<std::vector<uint32_t>> near;
    for (const gcd* die : order)
        near.push_back(cores_near(*die, what, cores));
    const bool all_near = std::none_of(near.begin(), near.end(), [](const auto& list) { return list.empty(); });
    const bool narrow = all_near && std::any_of(near.begin(), near.end(),
                                                [&](const auto& list) { return cuts_a_package(list, cores); });

    std::string text = "# gres.conf: the GPUs of " + name + "\n" + left_out;
    if (!all_near)
        text += "# without Cores: where the GPUs sit is not known\n";
    for (std::size_t i = 0; i < order.size(); ++i) {
        text += fmt::format("NodeName={} AutoDetect=off Name=gpu Type={} File=/dev/dri/renderD{}", name,
                            type_of(*order[i]), *order[i]->render_minor);
        if (all_near)
            text += " Cores=" + ranges_text(near[i]);
        if (order.size() > 1)
            text += " Links=" + links_from(*order[i], order, what);
        text += " Flags=amd_gpu_env\n";
    }
    text += "\n# slurm.conf: beside the processors and memory that the node's line has\n" + node_line(order, name);
    if (narrow)
        text +=
            "# These Cores are fewer than a processor's. Versions of Slurm that set a node aside for that want its\n"
            "# NUMA nodes as sockets, and a node line (slurmd -C) to match:\n"
            "#   SlurmdParameters=numa_node_as_socket\n";
    return text;
}

} // namespace amd_gpu
