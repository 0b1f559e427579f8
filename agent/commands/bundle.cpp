// amd-gpu-agent bundle: makes the tree of images that a web server serves to nodes.
#include "commands/commands.hpp"

#include "environment/bundle_index.hpp"
#include "environment/bundle_tree.hpp"
#include "system/files.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <set>

namespace amd_gpu {

namespace {

struct bundle_arguments {
    std::string tree;
    std::string key_file;
    std::string targets;
    std::vector<std::string> edits;
    bool no_suggested_edits = false;
    unsigned days = 30;
    image_source image;
};

constexpr auto longest_making = std::chrono::hours(12);
constexpr int64_t day_seconds = 86400;

result<signing_key> read_key(const std::string& file) {
    const auto text = read_file(file);
    if (!text)
        return text.failure();
    auto key = signing_key::parse(*text);
    return key ? std::move(key) : result<signing_key>(key.failure().within(file));
}

/// What was given as text, taken apart.
status complete(bundle_arguments& arguments) {
    std::set<target_id> targets;
    for (const std::string& text : split(arguments.targets, ',')) {
        const result<target_id> one = parse_target(text);
        if (!one)
            return one.failure();
        targets.insert(*one);
    }
    arguments.image.targets.assign(targets.begin(), targets.end());
    for (const std::string& text : arguments.edits) {
        const result<edit> one = edit::parse(text);
        if (!one)
            return one.failure();
        arguments.image.edits.push_back(*one);
    }
    arguments.image.suggests_edits = !arguments.no_suggested_edits;
    return success();
}

int run_add(bundle_arguments arguments) {
    const auto key = read_key(arguments.key_file);
    if (!key)
        return report(key.failure());
    if (const status taken = complete(arguments); !taken)
        return report(taken.failure());
    const auto made =
        add_image(arguments.tree, arguments.image, *key, std::chrono::seconds(arguments.days * day_seconds),
                  deadline::in(longest_making), [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
    if (!made)
        return report(made.failure());
    fmt::print("image sha256:{} of {} bytes\nkey {}\n", made->blob, made->blob_bytes, key->public_key());
    return exit_ok;
}

int run_sign(const bundle_arguments& arguments) {
    const auto key = read_key(arguments.key_file);
    if (!key)
        return report(key.failure());
    const auto expires = sign_tree(arguments.tree, *key, std::chrono::seconds(arguments.days * day_seconds),
                                   deadline::in(longest_making));
    if (!expires)
        return report(expires.failure());
    fmt::print("the index expires on {}\n", utc_text(*expires));
    return exit_ok;
}

void add_common(CLI::App& command, bundle_arguments& arguments) {
    constexpr unsigned most_days = 3650;
    command.add_option("TREE", arguments.tree, "Directory that the web server serves")->required();
    command.add_option("--key", arguments.key_file, "Secret key that signs the index, made by minisign -G -W")
        ->required();
    command.add_option("--days", arguments.days, "How long nodes may use the index")
        ->check(CLI::Range(1U, most_days))
        ->capture_default_str();
}

} // namespace

void add_bundle(CLI::App& app, command_context& context) {
    const auto arguments = std::make_shared<bundle_arguments>();
    CLI::App* bundle = app.add_subcommand("bundle", "Make images of software for web servers");
    bundle->require_subcommand(1);

    CLI::App* add = bundle->add_subcommand("add", "Add a directory to a tree, as the image of one variant");
    add_common(*add, *arguments);
    add->add_option("ENV", arguments->image.environment, "Environment, as nodes define it")->required();
    add->add_option("--targets", arguments->targets, "Targets that the software is built for: T[,T...]")->required();
    add->add_option("--from", arguments->image.directory, "Directory of the software")->required();
    add->add_option("--mount-point", arguments->image.mount_point,
                    "The one path at which the software works; without it, any");
    add->add_option("--edit", arguments->edits, "Edit of a variable, such as \"set ROCM_PATH=${prefix}\"; repeatable")
        ->allow_extra_args(false);
    add->add_flag("--no-suggested-edits", arguments->no_suggested_edits,
                  "Its directories (bin, lib, ...) suggest no edits");
    add->add_flag("--fixed-times", arguments->image.fixed_times, "Give every file the same time");
    add->add_option("--mksquashfs", arguments->image.program, "Program that makes images")->capture_default_str();
    add->callback([arguments, &context] { context.exit_status = run_add(*arguments); });

    CLI::App* sign = bundle->add_subcommand("sign", "Sign the index of a tree anew, before it expires");
    add_common(*sign, *arguments);
    sign->callback([arguments, &context] { context.exit_status = run_sign(*arguments); });
}

} // namespace amd_gpu
