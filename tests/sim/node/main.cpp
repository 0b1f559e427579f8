// amd-gpu-sim: runs a command on a simulated node with AMD GPUs. It owns the command line; the node's files are the
// writers' and its view is the sandbox's.
#include "tests/sim/node/breakage.hpp"
#include "tests/sim/node/replay.hpp"
#include "tests/sim/node/writers.hpp"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <unistd.h>

namespace {

using sim::error;
using sim::error_code;
using sim::result;
using sim::status;

/// As for env(1): the program itself failed; the command cannot be run; there is no such command.
constexpr int exit_own_failure = 125;
constexpr int exit_cannot_run = 126;
constexpr int exit_no_command = 127;

struct options {
    std::string models = AMD_GPU_SIM_MODELS;
    std::string model, snapshot, faults, hostname, salt, cgroup_root, hip, preload;
    std::vector<std::string> binds;
};

result<std::string> read_all(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return error{error_code::not_found, path + " cannot be read: " + std::strerror(errno)};
    }
    return std::string{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A library named on the command line must be there; one that is only looked for beside the program may be absent.
result<std::string> read_library(const std::string& named, const char* beside) {
    if (!named.empty()) {
        return read_all(named);
    }
    std::error_code failure;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
    const std::string path = program.parent_path().parent_path() / "sim" / beside;
    return std::filesystem::exists(path) ? read_all(path) : result<std::string>(std::string());
}

std::string host_name() {
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

status take_binds(const options& given, sim::sandbox& plan) {
    for (const std::string& pair : given.binds) {
        const std::size_t colon = pair.find(':');
        if (colon == std::string::npos || colon == 0 || pair.compare(colon, 2, ":/") != 0) {
            return error{error_code::usage, "--bind " + pair + " is not of the form SRC:/DST"};
        }
        plan.binds.emplace_back(pair.substr(0, colon), pair.substr(colon + 1));
    }
    return sim::success();
}

/// Puts this process on the node of a model, with all libraries of the simulation.
status enter_model(const options& given, sim::sandbox& plan) {
    result<sim::model> model = sim::read_model(given.models, given.model);
    if (!model) {
        return model.failure();
    }
    if (!given.faults.empty()) {
        const result<std::string> text = read_all(given.faults);
        if (!text) {
            return text.failure();
        }
        plan.faults = *text;
    }
    const std::string model_file = given.models + "/" + given.model + ".toml, faults";
    for (const auto& [text, name] : {std::pair{model->faults, model_file}, {plan.faults, given.faults}}) {
        if (const status broken = sim::apply_faults(*model, text, name); !broken) {
            return broken;
        }
    }
    plan.faults = model->faults + plan.faults;
    result<std::string> hip = read_library(given.hip, "libamdhip64.so.5");
    if (!hip) {
        return hip.failure();
    }
    plan.hip = std::move(*hip);
    const std::string& own_name = given.hostname.empty() ? host_name() : given.hostname;
    const sim::placed_node placed = sim::place(*model, given.salt.empty() ? own_name : given.salt);
    return sim::enter(plan, sim::view_of(placed));
}

/// Puts this process on the node of a snapshot. Its GPUs are files alone: nothing runs on them.
status enter_snapshot(const options& given, sim::sandbox& plan) {
    const result<std::string> bytes = read_all(given.snapshot);
    if (!bytes) {
        return bytes.failure();
    }
    const result<sim::replayed_node> node = sim::read_snapshot(*bytes);
    if (!node) {
        return node.failure().within(given.snapshot);
    }
    if (plan.hostname.empty()) {
        plan.hostname = node->hostname;
    }
    return sim::enter(plan, node->view);
}

/// Puts this process on the node that OPTIONS describe.
status enter_node(const options& given) {
    sim::sandbox plan;
    plan.hostname = given.hostname;
    plan.cgroup_root = given.cgroup_root;
    if (const status taken = take_binds(given, plan); !taken) {
        return taken;
    }
    result<std::string> preload = read_library(given.preload, "preload.so");
    if (!preload) {
        return preload.failure();
    }
    plan.preload = std::move(*preload);
    return given.snapshot.empty() ? enter_model(given, plan) : enter_snapshot(given, plan);
}

int fail(const error& why) {
    std::cerr << "amd-gpu-sim: " << why.what << "\n";
    return exit_own_failure;
}

int list_models(const std::string& directory) {
    const result<std::vector<std::string>> names = sim::model_names(directory);
    if (!names) {
        return fail(names.failure());
    }
    for (const std::string& name : *names) {
        std::cout << name << "\n";
    }
    return 0;
}

int run(const options& given, char** command) {
    if (command == nullptr || *command == nullptr) {
        return fail({error_code::usage, "run wants a command: amd-gpu-sim run --model NAME -- COMMAND..."});
    }
    if (const status there = enter_node(given); !there) {
        return fail(there.failure());
    }
    execvp(*command, command);
    std::cerr << "amd-gpu-sim: " << *command << ": " << std::strerror(errno) << "\n";
    return errno == ENOENT ? exit_no_command : exit_cannot_run;
}

} // namespace

int main(int argc, char** argv) {
    // Everything after "--" is the command's: it must not meet the parser of our own options.
    char** command = nullptr;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--") == 0) {
            command = argv + i + 1;
            argc = i;
        }
    }
    options given;
    CLI::App app("Runs a command on a simulated node with AMD GPUs (root only). Exit status: the command's, or 125.");
    app.require_subcommand(1);
    app.set_version_flag("--version", "amd-gpu-sim " AMD_GPU_VERSION);
    CLI::App* models = app.add_subcommand("models", "List the models, one name a line");
    CLI::App* start = app.add_subcommand("run", "Run a command on a node: run --model NAME [OPTIONS] -- COMMAND...");
    for (CLI::App* each : {models, start}) {
        each->add_option("--models", given.models, "Directory of models");
    }
    auto* node = start->add_option_group("node");
    CLI::Option* model = node->add_option("--model", given.model, "Name of the model, or path of a model file");
    node->add_option("--snapshot", given.snapshot,
                     "Archive made by amd-gpu-agent snapshot; no program runs on its GPUs");
    node->require_option(1);
    start->add_option("--faults", given.faults, "Fault file: lines 'KIND gcd=N [key=value...]'")->needs(model);
    start->add_option("--hostname", given.hostname, "Host name inside (default: the host's)");
    start->add_option("--salt", given.salt, "What unique ids and serials derive from (default: the host name)");
    start->add_option("--cgroup-root", given.cgroup_root, "Bind the subtree DIR of each cgroup v1 controller");
    start->add_option("--bind", given.binds, "SRC:DST, show SRC at DST (made below /run and /etc); repeatable")
        ->allow_extra_args(false);
    start->add_option("--hip", given.hip, "Simulated libamdhip64 (default: ../sim/libamdhip64.so.5)");
    start->add_option("--preload", given.preload, "Preload library (default: ../sim/preload.so)");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? 0 : exit_own_failure;
    }
    return models->parsed() ? list_models(given.models) : run(given, command);
}
