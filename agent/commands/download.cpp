// `amd-gpu-agent download`: the child without privileges that downloads for the agent. Not for people, hence hidden
// from the help.
#include "commands/commands.hpp"
#include "environment/bundle_child.hpp"

#include <CLI/CLI.hpp>

namespace amd_gpu {

void add_download(CLI::App& app, command_context& context) {
    app.add_subcommand("download", "Download a file (used by serve)")->group("")->callback([&context] {
        context.exit_status = download_as_child();
    });
}

} // namespace amd_gpu
