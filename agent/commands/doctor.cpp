// `amd-gpu-agent doctor`: why GPUs do not work here, for whoever asks, root or not, in a job or on a login node. It
// changes nothing.
#include "doctor/gather.hpp"

#include "commands/commands.hpp"
#include "discovery/discover.hpp"
#include "doctor/environment_checks.hpp"
#include "environment/provider.hpp"
#include "system/files.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

environment_variables own_environment() {
    environment_variables variables;
    for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text = *entry;
        if (const auto equals = text.find('='); equals != std::string::npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

void append(std::vector<step>& all, std::vector<step> more) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
}

std::vector<step> examine_hip(const settings& site, const node& here, const environment_variables& variables) {
    std::vector<std::string> own;
    for (const auto& [name, value] : variables)
        own.push_back(name + "=" + value);
    const auto mine = ask_hip(site, own, "");
    std::optional<hip_view> plain;
    if (mine)
        plain = ask_hip(site, {"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C"}, site.hip_library);
    std::vector<step> steps = {check_hip(mine, plain)};
    const auto path = variables.find("LD_LIBRARY_PATH");
    if (path != variables.end())
        if (auto one = check_library_path(rocm_directories(path->second)))
            steps.push_back(*std::move(one));
    if (auto one = check_xnack(variables, here))
        steps.push_back(*std::move(one));
    append(steps, check_overrides(variables, here, mine));
    return steps;
}

std::vector<step> examine_node(const settings& site, const result<node>& here, const environment_variables& variables) {
    if (!here)
        return {{step::state::unknown, "gpus", here.failure().what, ""}};
    auto steps = check_driver(*here);
    // The three counts say whether anything below the driver can be expected to work.
    if (here->sources.kfd.value_or(0) == 0) {
        steps.push_back({step::state::skipped, "agent", "not checked", ""});
        steps.push_back({step::state::skipped, "rights", "not checked", ""});
        steps.push_back({step::state::skipped, "smi", "not checked", ""});
        steps.push_back({step::state::skipped, "hip", "not checked", ""});
        return steps;
    }
    const auto opened = open_devices(*here);
    steps.push_back(check_rights(opened, variables.contains("SLURM_JOB_ID")));
    const bool may_open = steps.back().found != step::state::wrong;
    steps.push_back(check_smi(*here, ask_smi(smi_reader(site.smi_library), deadline::in(site.discovery_deadline))));
    if (may_open)
        if (auto masks = check_masks(variables, maskable_ids(*here, opened)))
            steps.push_back(*std::move(masks));
    if (may_open)
        append(steps, examine_hip(site, *here, variables));
    else
        steps.push_back({step::state::skipped, "hip", "not checked", ""});
    const std::string state = site.runtime_directory + "/node.json";
    steps.push_back(check_agent(agent_answers(site), ::access(state.c_str(), R_OK) == 0));
    return steps;
}

std::vector<step> examine_slurm(const settings& site, const result<node>& here) {
    const auto slurm = read_slurm(site);
    if (!slurm)
        return {{step::state::unknown, "slurm", slurm.failure().what, ""}};
    const auto preparation =
        site.discovery_deadline +
        (site.probe_default == probe_level::off ? std::chrono::milliseconds(0) : site.probe_deadline);
    std::vector<step> steps = {
        check_prolog_flags(slurm->settings),
        check_prolog_time(slurm->settings, preparation),
        check_plugin(slurm->settings, slurm->plugstack, slurm->plugin_exists, slurm->plugin_built_for),
        check_gres_types(slurm->settings),
        check_fence(slurm->settings, slurm->cgroup_conf),
        check_tracking(slurm->settings)};
    const auto add = [&](std::optional<step> one) {
        if (one)
            steps.push_back(*std::move(one));
    };
    if (slurm->gres_conf)
        add(check_gres_conf(*slurm->gres_conf));
    // A host without GPUs need not be a node at all.
    if (!here || here->gcds.empty())
        return steps;
    add(check_gres_count(slurm->this_node, *here));
    if (slurm->gpus)
        add(check_gres_order(gcds_of(*slurm->gpus, *here)));
    add(check_node_state(slurm->this_node));
    return steps;
}

std::string text_in(const std::string& path) {
    const auto text = read_file(path);
    return text ? *text : std::string();
}

/// The modules that this kernel has, built in or to be loaded.
std::string kernel_modules() {
    utsname kernel{};
    if (::uname(&kernel) != 0)
        return {};
    const std::string directory = fmt::format("/lib/modules/{}/", kernel.release);
    return text_in(directory + "modules.dep") + text_in(directory + "modules.builtin");
}

/// What jobs would get of the site's environments. No server is asked: an image is only said to be mountable or not.
std::vector<step> examine_environments(const settings& site, const result<node>& here) {
    const auto known = load_catalogue(site.environments_directory);
    if (!known)
        return {{step::state::wrong, "software", known.failure().what, "amd-gpu-agent config check"}};
    std::vector<target_id> devices;
    if (here)
        for (const gcd& one : here->gcds)
            if (const auto target = one.default_target(); one.bound && target)
                devices.push_back(*target);
    if (devices.empty())
        return {};
    std::vector<step> steps;
    bool images = false;
    for (const auto& [name, definition] : *known) {
        if (definition.provider == "bundle")
            images = true;
        else
            steps.push_back(check_environment(definition, variants_of(site, definition, deadline::in({}), {}), devices,
                                              name == site.default_environment));
    }
    if (images)
        steps.push_back(check_images(text_in("/proc/filesystems"), kernel_modules()));
    return steps;
}

const char* color_of(step::state state) {
    switch (state) {
    case step::state::ok:
        return "\033[32m";
    case step::state::warning:
        return "\033[33m";
    case step::state::wrong:
        return "\033[31m";
    case step::state::unknown:
    case step::state::skipped:
        break;
    }
    return "\033[2m";
}

std::string text_for_people(const std::vector<step>& steps, bool colored) {
    std::string text;
    for (const step& one : steps) {
        text += fmt::format("{}{:<8}{} {:<9} {}\n", colored ? color_of(one.found) : "", text_of(one.found),
                            colored ? "\033[0m" : "", one.check, one.text);
        if (!one.remedy.empty())
            text += fmt::format("{:<19}to mend it: {}\n", "", one.remedy);
    }
    return text;
}

std::string text_for_programs(const std::vector<step>& steps) {
    auto list = nlohmann::json::array();
    for (const step& one : steps)
        list.push_back({{"check", one.check},
                        {"state", text_of(one.found)},
                        {"text", one.text},
                        {"remedy", one.remedy.empty() ? nlohmann::json() : nlohmann::json(one.remedy)}});
    return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int doctor_command(const command_context& context, bool as_json) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    const auto variables = own_environment();
    const auto here = discover(*site, deadline::in(site->discovery_deadline));
    auto steps = examine_node(*site, here, variables);
    append(steps, examine_environments(*site, here));
    append(steps, examine_slurm(*site, here));

    const std::string text = as_json ? text_for_programs(steps) : text_for_people(steps, ::isatty(STDOUT_FILENO) != 0);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        return report({error_code::internal, "cannot write to standard output"});
    const bool wrong =
        std::any_of(steps.begin(), steps.end(), [](const step& one) { return one.found == step::state::wrong; });
    return wrong ? exit_negative : exit_ok;
}

} // namespace

void add_doctor(CLI::App& app, command_context& context) {
    const auto as_json = std::make_shared<bool>(false);
    auto* command = app.add_subcommand("doctor", "Say why GPUs do not work here");
    command->add_flag("--json", *as_json, "Print a JSON list");
    command->callback([as_json, &context] { context.exit_status = doctor_command(context, *as_json); });

    const auto paths = std::make_shared<std::vector<std::string>>();
    auto* child = app.add_subcommand("open-devices", "Open device files (used by doctor)")->group("");
    child->add_option("paths", *paths, "Device files");
    child->callback([paths, &context] { context.exit_status = open_devices_here(*paths); });
}

} // namespace amd_gpu
