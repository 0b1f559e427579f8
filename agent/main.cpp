// amd-gpu-agent: which command runs. Everything a command does is in commands/NAME.cpp.

#include "commands/commands.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    using namespace amd_gpu;
    command_context context;
    CLI::App app("AMD GPUs for Slurm jobs: finds them, tests them, and prepares what a job needs on them.",
                 "amd-gpu-agent");
    app.set_version_flag("--version", AMD_GPU_VERSION);
    app.add_option("--config", context.configuration, "configuration file")->capture_default_str();
    app.require_subcommand(1);
    app.fallthrough();
    try {
        for (const auto add :
             {add_discover, add_targets, add_resolve, add_probe, add_prepare, add_status, add_config, add_serve,
              add_slurm_config, add_doctor, add_snapshot, add_variants, add_realise, add_libraries, add_read_index,
              add_read_smi, add_download, add_mount_blob, add_empty_directory})
            add(app, context);
        app.parse(argc, argv);
        return context.exit_status;
    } catch (const CLI::ParseError& problem) {
        const int shown = app.exit(problem);
        return shown == 0 ? exit_ok : exit_usage;
    } catch (const std::exception& problem) { // out of memory, or a bug: said once, here
        std::fprintf(stderr, "amd-gpu-agent: %s\n", problem.what());
        return exit_unavailable;
    }
}
