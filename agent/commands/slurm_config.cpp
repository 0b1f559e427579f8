// amd-gpu-agent slurm-config: how this node's GPUs are described to Slurm.
#include "commands/commands.hpp"
#include "commands/slurm_config_text.hpp"
#include "discovery/discover.hpp"
#include "system/hwloc.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fmt/format.h>
#include <memory>

namespace amd_gpu {

result<std::vector<slurm_core>> read_slurm_cores() {
    // Slurm counts the cores of the whole machine, also where this process may use only some.
    const auto loaded = load_topology();
    if (!loaded)
        return loaded.failure();
    const hwloc_topology_t machine = loaded->get();
    std::vector<slurm_core> cores;
    for (hwloc_obj_t core = nullptr; (core = ::hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_CORE, core)) != nullptr;) {
        const auto package = ::hwloc_get_ancestor_obj_by_type(machine, HWLOC_OBJ_PACKAGE, core);
        slurm_core one{package != nullptr ? package->logical_index : 0, {}};
        for (int cpu = -1; (cpu = ::hwloc_bitmap_next(core->cpuset, cpu)) >= 0;)
            one.cpus.push_back(static_cast<uint32_t>(cpu));
        cores.push_back(std::move(one));
    }
    return cores;
}

namespace {

int print_config(const command_context& context, const std::string& name) {
    const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
    if (!std::all_of(name.begin(), name.end(), is_of_name))
        return report({error_code::usage, "a node's name has letters, digits, - _ and . only"});
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto found = discover(*site, deadline::in(site->discovery_deadline));
    if (!found)
        return report(found.failure());
    const auto cores = read_slurm_cores();
    if (!cores)
        return report(cores.failure());
    // Slurm's name of a node is the host's without its domain unless a site says otherwise.
    const auto text = slurm_config(*found, *cores, name.empty() ? found->name.substr(0, found->name.find('.')) : name);
    if (!text)
        return report(text.failure());
    const bool written = std::fputs(text->c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return written ? exit_ok : report({error_code::internal, "cannot write to standard output"});
}

} // namespace

void add_slurm_config(CLI::App& app, command_context& context) {
    const auto name = std::make_shared<std::string>();
    auto* command = app.add_subcommand("slurm-config", "Print the lines of gres.conf for this node's GPUs");
    command->add_option("--name", *name, "Slurm's name of this node; without it the host's");
    command->callback([name, &context] { context.exit_status = print_config(context, *name); });
}

} // namespace amd_gpu
