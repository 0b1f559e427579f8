// The commands of amd-gpu-agent, one file each. Each adds itself to the command line; its callback leaves the exit
// status.
#pragma once

#include "result.hpp"

#include <string>

namespace CLI {
class App;
}

namespace amd_gpu {

/// What the commands share: the global options and the exit status to leave.
struct command_context {
    std::string configuration = "/etc/amd-gpu/amd-gpu.toml"; ///< --config
    int exit_status = 0;
};

/// Exit statuses of all commands, as amd-gpu-agent(8) documents them.
enum exit_status : int {
    exit_ok = 0,
    exit_negative = 1,      ///< the answer is no: a check failed, nothing matches
    exit_usage = 2,         ///< bad command line or bad name
    exit_configuration = 3, ///< a configuration file is wrong
    exit_unavailable = 4,   ///< the agent, a library or a device cannot be reached
};

/// Prints "amd-gpu-agent: what" on standard error and gives the exit status that fits the error.
int report(const error& failure);

void add_targets(CLI::App& app, command_context& context);
void add_discover(CLI::App& app, command_context& context);
void add_resolve(CLI::App& app, command_context& context);
void add_config(CLI::App& app, command_context& context);
void add_serve(CLI::App& app, command_context& context);
void add_slurm_config(CLI::App& app, command_context& context);
void add_prepare(CLI::App& app, command_context& context);
void add_status(CLI::App& app, command_context& context);
void add_probe(CLI::App& app, command_context& context);
void add_doctor(CLI::App& app, command_context& context);
void add_snapshot(CLI::App& app, command_context& context);
void add_variants(CLI::App& app, command_context& context);
void add_realise(CLI::App& app, command_context& context);
void add_libraries(CLI::App& app, command_context& context);
void add_read_index(CLI::App& app, command_context& context);
void add_mount_blob(CLI::App& app, command_context& context);
void add_download(CLI::App& app, command_context& context);
void add_read_smi(CLI::App& app, command_context& context);
void add_empty_directory(CLI::App& app, command_context& context);

} // namespace amd_gpu
