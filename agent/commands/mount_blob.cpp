// `amd-gpu-agent mount-blob`: the child that mounts and unmounts images, because that may hang in the kernel. Not for
// people, hence hidden from the help.
#include "commands/commands.hpp"
#include "environment/blob_mount.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace amd_gpu {

void add_mount_blob(CLI::App& app, command_context& context) {
    const auto paths = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("mount-blob", "Mount an image, or unmount a directory")->group("");
    command->add_option("PATH", *paths, "The image and the directory; or only a directory, to unmount it")
        ->required()
        ->expected(1, 2);
    command->callback([paths, &context] {
        context.exit_status =
            paths->size() == 2 ? mount_blob_child(paths->front(), paths->back()) : unmount_blob_child(paths->front());
    });
}

} // namespace amd_gpu
