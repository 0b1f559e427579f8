#include "service/slurm_gpus.hpp"

#include "ranges.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

constexpr std::chrono::milliseconds slurmd_limit{5000};
/// More device files than any node has; a longer list is nonsense.
constexpr std::size_t most_files = 4096;

/// The value of "KEY=value" in a line of words.
std::optional<std::string> field(std::string_view line, std::string_view key) {
    for (const auto& word : split(line, ' '))
        if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
            return word.substr(key.size() + 1);
    return std::nullopt;
}

/// The files of a list as Slurm abbreviates them: "/dev/dri/renderD[128-135,140]" and
/// "/dev/dri/card0,/dev/dri/renderD128".
std::optional<std::vector<std::string>> files_in(std::string_view list) {
    std::vector<std::string> files;
    while (!list.empty()) {
        // A comma inside of brackets separates numbers.
        const auto bracket = list.find('[');
        const auto comma = list.find(',');
        const auto close = list.find(']');
        if (bracket == std::string_view::npos || comma < bracket) {
            files.emplace_back(list.substr(0, comma));
            list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
            continue;
        }
        const auto numbers = close == std::string_view::npos
                                 ? std::nullopt
                                 : parse_ranges(list.substr(bracket + 1, close - bracket - 1));
        const std::string_view rest = numbers ? list.substr(close + 1) : std::string_view();
        if (!numbers || numbers->size() > most_files || (!rest.empty() && rest.front() != ','))
            return std::nullopt;
        for (const uint32_t number : *numbers)
            files.push_back(fmt::format("{}{}", list.substr(0, bracket), number));
        list = rest.empty() ? rest : rest.substr(1);
    }
    return files;
}

/// N of "/dev/dri/<prefix>N".
std::optional<uint32_t> minor_in(std::string_view file, std::string_view prefix) {
    const auto name = file.substr(file.rfind('/') + 1);
    return name.starts_with(prefix) ? parse_decimal(name.substr(prefix.size())) : std::nullopt;
}

const gcd* gcd_behind(const std::vector<std::string>& files, const node& where, const sysfs& roots) {
    const auto find = [&](auto is_it) -> const gcd* {
        const auto found = std::find_if(where.gcds.begin(), where.gcds.end(), is_it);
        return found == where.gcds.end() ? nullptr : &*found;
    };
    for (const auto& file : files)
        if (const auto minor = minor_in(file, "renderD"))
            return find([&](const gcd& die) { return die.bound && die.render_minor == minor; });
    for (const auto& file : files)
        if (const auto card = minor_in(file, "card")) {
            const auto device = read_link(fmt::format("{}/class/drm/card{}/device", roots.sys, *card));
            const auto bdf = device ? pci_address::parse(device->substr(device->rfind('/') + 1)) : std::nullopt;
            return !bdf ? nullptr : find([&](const gcd& die) { return die.bound && die.id() == gcd_id(*bdf); });
        }
    return nullptr;
}

const std::string& conf_of(const settings& site, const std::string& slurm_conf) {
    return site.slurm_conf.empty() ? slurm_conf : site.slurm_conf;
}

} // namespace

result<gres_devices> parse_gres_devices(std::string_view text) {
    gres_devices devices;
    for (const auto& line : split(text, '\n')) {
        // "slurmd: Gres Name=gpu Type=(null) Count=1 Index=128 ID=7696487 File=/dev/dri/renderD128 Cores=48-63 ..."
        if (line.find("Gres Name=gpu ") == std::string::npos)
            continue;
        const auto count = parse_decimal(field(line, "Count").value_or("")).value_or(0);
        const auto files = files_in(field(line, "File").value_or(""));
        if (!files || count == 0 || count > most_files)
            return error{error_code::peer, fmt::format("slurmd says of its GPUs: {:.120}", line)};
        if (files->size() == count)
            for (const auto& file : *files)
                devices.push_back({file});
        else if (count == 1)
            devices.push_back(*files); // several files, or none, of one GPU
        else if (files->empty())
            devices.resize(devices.size() + count);
        else
            return error{error_code::peer,
                         fmt::format("slurmd counts its GPUs and their files differently: {:.120}", line)};
    }
    return devices;
}

result<gres_devices> ask_slurmd(const settings& site, const std::string& node, const std::string& slurm_conf,
                                deadline until) {
    command what;
    what.arguments = {site.slurmd, "-G"};
    if (!node.empty())
        what.arguments.insert(what.arguments.end(), {"-N", node});
    what.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
    if (const auto& conf = conf_of(site, slurm_conf); !conf.empty())
        what.arguments.insert(what.arguments.end(), {"-f", conf});
    const auto ended = run(what, until.at_most(slurmd_limit));
    if (!ended)
        return ended.failure();
    if (!ended->succeeded()) {
        const auto said = trimmed(ended->diagnostics);
        const auto code = ended->how == child_result::ending::exited ? error_code::peer : error_code::timed_out;
        return error{code,
                     fmt::format("{} -G {}: {:.200}", site.slurmd, ended->text(), said.substr(said.rfind('\n') + 1))};
    }
    return parse_gres_devices(ended->output + "\n" + ended->diagnostics); // it lists on either, as its version likes
}

std::string gres_state(const settings& site, const std::string& slurm_conf) {
    std::string state;
    const auto& conf = conf_of(site, slurm_conf);
    const std::string directory = conf.empty() ? "/etc/slurm/" : conf.substr(0, conf.rfind('/') + 1);
    for (const auto& file : {conf.empty() ? directory + "slurm.conf" : conf, directory + "gres.conf"}) {
        struct stat found{};
        if (::stat(file.c_str(), &found) == 0)
            state += fmt::format("{}:{}.{:09}:{};", found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec,
                                 found.st_size);
    }
    return state;
}

std::vector<const gcd*> gcds_of(const gres_devices& devices, const node& where, const sysfs& files) {
    std::vector<const gcd*> order;
    for (const auto& device : devices)
        order.push_back(gcd_behind(device, where, files));
    return order;
}

} // namespace amd_gpu
