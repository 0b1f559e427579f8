// `amd-gpu-agent empty-directory`: the child that removes what a job has left, as the job's user. Not for people, hence
// hidden from the help.
#include "commands/commands.hpp"

#include "system/tree.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <unistd.h>

namespace amd_gpu {

namespace {

int run_empty_directory(const std::string& path) {
    // Root would remove what the user could not: other users' files, through whatever trick.
    if (::geteuid() == 0)
        return report(error{error_code::permission, "empty-directory does not run as root"});
    const auto done = empty_directory(path);
    return done ? exit_ok : report(done.failure());
}

} // namespace

void add_empty_directory(CLI::App& app, command_context& context) {
    const auto path = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("empty-directory", "Remove a job's caches (used by serve)")->group("");
    command->add_option("DIRECTORY", *path, "What to empty")->required();
    command->callback([path, &context] { context.exit_status = run_empty_directory(*path); });
}

} // namespace amd_gpu
