#include "doctor/gather.hpp"

#include "ranges.hpp"
#include "service/client.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto call_limit = 5000ms;

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

} // namespace

result<slurm_facts> read_slurm(const settings& site) {
    command what;
    what.arguments = {site.scontrol, "show", "config"};
    what.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    const char* inherited = std::getenv("SLURM_CONF"); // NOLINT(concurrency-mt-unsafe): nothing here sets variables
    if (!site.slurm_conf.empty())
        what.environment.push_back("SLURM_CONF=" + site.slurm_conf);
    else if (inherited != nullptr)
        what.environment.push_back(std::string("SLURM_CONF=") + inherited);
    const auto ended = run(what, deadline::in(call_limit));
    if (!ended)
        return ended.failure();
    if (!ended->succeeded())
        return error{error_code::peer,
                     fmt::format("{} {}: {}", site.scontrol, ended->text(), split(ended->diagnostics, '\n').front())};

    slurm_facts facts;
    facts.settings = slurm_settings_in(ended->output);
    const std::string conf = setting(facts.settings, "SLURM_CONF");
    const std::string directory = conf.substr(0, conf.rfind('/') + 1);
    if (!directory.empty())
        facts.cgroup_conf = text_of_file(directory + "cgroup.conf");
    const std::string named = setting(facts.settings, "PlugStackConfig");
    if (!named.empty() || !directory.empty())
        facts.plugstack = text_of_file(named.empty() ? directory + "plugstack.conf" : named);
    const auto line = facts.plugstack ? plugin_line_in(*facts.plugstack) : std::nullopt;
    const std::string plugins = setting(facts.settings, "PluginDir");
    if (line && line->path.find('/') != std::string::npos) {
        facts.plugin_exists = ::access(line->path.c_str(), F_OK) == 0;
    } else if (line && !plugins.empty()) {
        facts.plugin_exists = false;
        for (const std::string& one : split(plugins, ':'))
            if (::access((one + "/" + line->path).c_str(), F_OK) == 0)
                facts.plugin_exists = true;
    }
    return facts;
}

std::optional<bool> agent_answers(const settings& site) {
    if (::geteuid() != 0)
        return std::nullopt;
    return static_cast<bool>(ask(site.socket, message("status"), deadline::in(call_limit)));
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
