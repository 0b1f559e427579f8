// `amd-gpu-agent snapshot`: the files of this node that say what its GPUs are, as a small archive to keep or to send.
#include "commands/commands.hpp"
#include "configuration/settings.hpp"
#include "doctor/gather.hpp"
#include "snapshot/collect.hpp"
#include "snapshot/hide.hpp"
#include "system/files.hpp"
#include "system/host.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
/// Some hundred small files of one GPU; a file that waits for a dead GPU's firmware never comes.
constexpr auto limit_per_gpu = 10s;
constexpr auto limit = 120s;

struct choices {
    std::string output;
    bool hide_serials = false;
};

/// What stands beside the files: where and when they were read, and what could not be.
std::string manifest_of(const node_files& files, const settings& site, const choices& asked, std::time_t now) {
    using json = nlohmann::ordered_json;
    json j;
    j["schema"] = 1;
    j["version"] = AMD_GPU_VERSION;
    j["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
    j["host"] = asked.hide_serials ? json(nullptr) : json(host_name());
    const auto kernel = read_line("/proc/sys/kernel/osrelease");
    j["kernel"] = kernel ? json(*kernel) : json(nullptr);
    const auto slurm = slurm_release(site);
    j["slurm"] = slurm ? json(*slurm) : json(nullptr);
    j["serials_hidden"] = asked.hide_serials;
    j["unreadable"] = json::array();
    for (const auto& one : files.unreadable)
        j["unreadable"].push_back({{"path", one.path}, {"reason", one.reason}});
    return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

int take_snapshot(const command_context& context, choices asked) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    auto files = collect_node_files({}, {"/proc/self/exe", "read-gpu-files"}, limit_per_gpu, deadline::in(limit));
    if (!files)
        return report(files.failure());
    if (asked.hide_serials)
        hide_serials(*files);

    const std::time_t now = std::time(nullptr);
    std::vector<archive_entry> entries = {
        {archive_entry::kind::file, "snapshot.json", manifest_of(*files, *site, asked, now)}};
    for (auto& entry : files->entries) {
        entry.path.insert(0, "node/");
        entries.push_back(std::move(entry));
    }
    const auto bytes = pack(entries, now);
    if (!bytes)
        return report(bytes.failure());
    if (asked.output == "-") {
        const bool written =
            std::fwrite(bytes->data(), 1, bytes->size(), stdout) == bytes->size() && std::fflush(stdout) == 0;
        return written ? exit_ok : report({error_code::internal, "cannot write to standard output"});
    }
    if (asked.output.empty())
        asked.output = fmt::format("amd-gpu-snapshot-{:%Y%m%d-%H%M%S}.tar.gz", fmt::gmtime(now));
    // A rename would put a file in the place of a device or a link.
    struct stat there{};
    if (::lstat(asked.output.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
        return report({error_code::usage, asked.output + " is there and no regular file; name a file, or - for "
                                                         "standard output"});
    // It may hold serial numbers, so others get it from its owner or not at all.
    if (const auto written = write_file_atomically(asked.output, *bytes, 0600); !written)
        return report(written.failure());
    fmt::print("{}: {} entries, {} kB{}\n", asked.output, entries.size(), (bytes->size() + 999) / 1000,
               files->unreadable.empty() ? "" : fmt::format("; {} could not be read", files->unreadable.size()));
    return exit_ok;
}

} // namespace

void add_snapshot(CLI::App& app, command_context& context) {
    const auto asked = std::make_shared<choices>();
    auto* command = app.add_subcommand("snapshot", "Keep the files that say what this node's GPUs are, in an archive");
    command->add_option("-o,--output", asked->output, "File to write, or - for standard output");
    command->add_flag("--hide-serials", asked->hide_serials, "Replace serial numbers, unique ids and the host's name");
    command->callback([asked, &context] { context.exit_status = take_snapshot(context, *asked); });

    const auto directory = std::make_shared<std::string>();
    auto* reader =
        app.add_subcommand("read-gpu-files", "Read the driver's files of a GPU (used by snapshot)")->group("");
    reader->add_option("directory", *directory, "The GPU's directory below /sys/devices")->required();
    reader->callback([directory, &context] { context.exit_status = read_gpu_files(*directory); });
}

} // namespace amd_gpu
