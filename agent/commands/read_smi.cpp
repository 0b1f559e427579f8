// `amd-gpu-agent read-smi`: the child that loads rocm_smi for discovery. Not for people, hence hidden from the help.
#include "commands/commands.hpp"
#include "discovery/smi.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <unistd.h>

namespace amd_gpu {

void add_read_smi(CLI::App& app, command_context&) {
    const auto library = std::make_shared<std::string>();
    auto* command = app.add_subcommand("read-smi", "Ask rocm_smi for its GPUs (used by discovery)")->group("");
    command->add_option("library", *library, "Path of the library; empty for the known names");
    // The library has threads and destructors of its own that are known to crash; its answer is out, so leave at once.
    command->callback([library] { ::_exit(read_smi(*library)); });
}

} // namespace amd_gpu
