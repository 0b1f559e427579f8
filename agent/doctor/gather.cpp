#include "doctor/gather.hpp"

#include "doctor/plugin_file.hpp"
#include "probing/prober.hpp"
#include "ranges.hpp"
#include "service/client.hpp"
#include "system/files.hpp"
#include "system/host.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto call_limit = 5000ms;
constexpr std::size_t most_plugin_bytes = 64U << 20; ///< of a build that was not stripped

std::optional<std::string> text_of_file(const std::string& path) {
    auto text = read_file(path);
    return text ? std::optional(std::move(*text)) : std::nullopt;
}

/// "root:render"; numbers where there is no name.
std::string owner_of(const struct stat& about) {
    std::array<char, 4096> space{};
    passwd user{};
    passwd* found_user = nullptr;
    std::string text = std::to_string(about.st_uid);
    if (::getpwuid_r(about.st_uid, &user, space.data(), space.size(), &found_user) == 0 && found_user != nullptr)
        text = user.pw_name;
    group owners{};
    group* found_group = nullptr;
    text += ":";
    if (::getgrgid_r(about.st_gid, &owners, space.data(), space.size(), &found_group) == 0 && found_group != nullptr)
        return text + owners.gr_name;
    return text + std::to_string(about.st_gid);
}

std::string setting(const slurm_settings& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? "" : found->second;
}

/// Runs scontrol and gives what it printed. Error (peer): what it said instead, in one line.
result<std::string> ask_scontrol(const settings& site, const std::vector<std::string>& arguments) {
    command what;
    what.arguments = {site.scontrol};
    what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
    what.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    const char* inherited = std::getenv("SLURM_CONF"); // NOLINT(concurrency-mt-unsafe): nothing here sets variables
    if (!site.slurm_conf.empty())
        what.environment.push_back("SLURM_CONF=" + site.slurm_conf);
    else if (inherited != nullptr)
        what.environment.push_back(std::string("SLURM_CONF=") + inherited);
    auto ended = run(what, deadline::in(call_limit));
    if (!ended)
        return ended.failure();
    if (!ended->succeeded())
        return error{error_code::peer,
                     fmt::format("{} {}: {}", site.scontrol, ended->text(), split(ended->diagnostics, '\n').front())};
    return std::move(ended->output);
}

/// The texts of all files that a pattern of plugstack.conf names, one after the other. A pattern that names none is no
/// error, as to Slurm.
std::optional<std::string> included_text(const std::string& pattern) {
    glob_t found{};
    const int state = ::glob(pattern.c_str(), 0, nullptr, &found);
    std::string all;
    bool readable = state == 0 || state == GLOB_NOMATCH;
    for (std::size_t i = 0; state == 0 && i < found.gl_pathc; ++i) {
        const auto text = text_of_file(found.gl_pathv[i]);
        readable = readable && text.has_value();
        all += text.value_or("") + "\n";
    }
    ::globfree(&found);
    return readable ? std::optional(std::move(all)) : std::nullopt;
}

/// Where Slurm looks for the file of a line. None when PluginDir is not known.
std::vector<std::string> places_of(const plugin_line& line, const slurm_settings& slurm) {
    if (line.path.find('/') != std::string::npos)
        return {line.path};
    std::vector<std::string> places;
    for (const std::string& one : split(setting(slurm, "PluginDir"), ':'))
        if (!one.empty())
            places.push_back(one + "/" + line.path);
    return places;
}

} // namespace

result<slurm_facts> read_slurm(const settings& site) {
    const auto config = ask_scontrol(site, {"show", "config"});
    if (!config)
        return config.failure();
    slurm_facts facts;
    facts.settings = slurm_settings_in(*config);
    const std::string conf = setting(facts.settings, "SLURM_CONF");
    const std::string directory = conf.substr(0, conf.rfind('/') + 1);
    if (!directory.empty()) {
        facts.cgroup_conf = text_of_file(directory + "cgroup.conf");
        facts.gres_conf = text_of_file(directory + "gres.conf");
    }
    const std::string named = setting(facts.settings, "PlugStackConfig");
    if (!named.empty() || !directory.empty())
        facts.plugstack = text_of_file(named.empty() ? directory + "plugstack.conf" : named);
    if (facts.plugstack)
        facts.plugstack = with_includes(*facts.plugstack, included_text);
    const auto line = facts.plugstack ? plugin_line_in(*facts.plugstack) : std::nullopt;
    if (const auto places = line ? places_of(*line, facts.settings) : std::vector<std::string>(); !places.empty()) {
        const auto found = std::find_if(places.begin(), places.end(),
                                        [](const std::string& one) { return ::access(one.c_str(), F_OK) == 0; });
        facts.plugin_exists = found != places.end();
        if (const auto file = *facts.plugin_exists ? read_file(*found, most_plugin_bytes) : std::string())
            facts.plugin_built_for = plugin_version_in(*file);
    }

    const std::string name = slurm_node_name();
    if (const auto told = ask_scontrol(site, {"show", "node", name}))
        facts.this_node = slurm_node_in(*told);
    if (::geteuid() == 0 && facts.this_node)
        if (auto gpus = ask_slurmd(site, name, conf, deadline::in(call_limit)))
            facts.gpus = std::move(*gpus);
    return facts;
}

std::optional<std::string> slurm_release(const settings& site) {
    const auto told = ask_scontrol(site, {"--version"}); // "slurm 23.02.7", "slurm-wlm 22.05.8"
    if (!told)
        return std::nullopt;
    const auto text = trimmed(*told);
    return std::string(text.substr(text.rfind(' ') + 1));
}

std::optional<bool> agent_answers(const settings& site) {
    if (::geteuid() != 0)
        return std::nullopt;
    return static_cast<bool>(ask(site.socket, message("status"), deadline::in(call_limit)));
}

std::optional<hip_view> ask_hip(const settings& site, const std::vector<std::string>& variables,
                                const std::string& library) {
    command what;
    // It gives up by itself a little earlier, so that it can say where it was.
    const double seconds = std::max(0.2, static_cast<double>(site.probe_deadline.count()) / 1000.0 - 0.3);
    what.arguments = {probe_program(site), "devices", "--deadline", fmt::format("{:.1f}", seconds)};
    if (!library.empty())
        what.arguments.insert(what.arguments.end(), {"--hip", library});
    what.environment = variables;
    const auto ended = run(what, deadline::in(site.probe_deadline));
    return ended ? parse_hip_view(ended->output) : std::nullopt;
}

std::vector<library_directory> rocm_directories(const std::string& list) {
    std::vector<library_directory> found;
    // The loader has been through these directories to start this program: they do not hang.
    for (const std::string& one : split(list, ':')) {
        std::error_code failed;
        const auto path = std::filesystem::canonical(one, failed);
        if (one.empty() || failed)
            continue;
        library_directory directory{path.string(), {}};
        const auto names = list_directory(path.string());
        for (const std::string library : {"libamdhip64", "libhsa-runtime64"})
            if (std::any_of(names.begin(), names.end(),
                            [&](const std::string& name) { return name.starts_with(library + ".so"); }))
                directory.libraries.push_back(library);
        if (!directory.libraries.empty())
            found.push_back(std::move(directory));
    }
    return found;
}

std::vector<opened_device> open_devices(const node& here) {
    command child;
    child.arguments = {"/proc/self/exe", "open-devices", "/dev/kfd"};
    for (const gcd& one : here.gcds)
        if (one.render_minor)
            child.arguments.push_back(fmt::format("/dev/dri/renderD{}", *one.render_minor));
    const auto ended = run(child, deadline::in(call_limit));
    std::vector<opened_device> devices;
    if (!ended || !ended->succeeded())
        return devices;
    for (const std::string& line : split(ended->output, '\n')) {
        const auto space = line.find(' ');
        if (space == std::string::npos)
            continue;
        const auto number = parse_decimal(std::string_view(line).substr(0, space));
        if (!number)
            return {};
        opened_device device;
        device.error = static_cast<int>(*number);
        device.path = line.substr(space + 1);
        struct stat about{};
        if (::stat(device.path.c_str(), &about) == 0) {
            device.mode = about.st_mode & 07777U;
            device.owner = owner_of(about);
        }
        devices.push_back(std::move(device));
    }
    return devices;
}

int open_devices_here(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        const int number = opened < 0 ? errno : 0;
        if (opened >= 0)
            ::close(opened);
        std::printf("%d %s\n", number, path.c_str());
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}

} // namespace amd_gpu
