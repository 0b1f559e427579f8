// The one table of all settings. A row knows its name, its range, how to read and how to print itself; the defaults
// come from the initialisers of `settings`, so that none of it is written twice.
#include "configuration/setting_table.hpp"

#include "configuration/values.hpp"
#include "ranges.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <type_traits>

namespace amd_gpu {

namespace {

// ---- the words of the enumerations, in the order of their values ----

template<typename T>
constexpr std::string_view words = "";
template<>
constexpr std::string_view words<probe_level> = "off|quick|standard";
template<>
constexpr std::string_view words<mask_mode> = "none|job|rank";
template<>
constexpr std::string_view words<bind_mode> = "none|closest";
template<>
constexpr std::string_view words<gres_policy> = "refuse|exclusive_nodes";
template<>
constexpr std::string_view words<fault_policy> = "fail_job|run_anyway";

template<typename T>
std::optional<T> parse_word(std::string_view text) {
    const std::vector<std::string> all = split(words<T>, '|');
    const auto found = std::find(all.begin(), all.end(), text);
    if (found == all.end())
        return std::nullopt;
    return static_cast<T>(found - all.begin());
}

template<typename T>
std::string_view word_of(T value) {
    std::string_view rest = words<T>;
    for (auto skip = static_cast<int>(value); skip > 0; --skip)
        rest.remove_prefix(rest.find('|') + 1);
    return rest.substr(0, rest.find('|'));
}

// ---- one value: is it what the key takes? ----

bool within(double number, const setting_key& key) {
    return number >= key.lowest && number <= key.highest; // false for NaN
}

bool read_into(std::string& to, const setting_key& key, const toml_value& from) {
    if (from.what != toml_value::kind::text || has_control(from.text) ||
        !within(static_cast<double>(from.text.size()), key))
        return false;
    if (key.type == "path" && !from.text.empty() && from.text.front() != '/')
        return false;
    to = from.text;
    return true;
}

bool read_into(bool& to, const setting_key& /*key*/, const toml_value& from) {
    to = from.truth;
    return from.what == toml_value::kind::truth;
}

bool read_into(std::optional<uint32_t>& to, const setting_key& key, const toml_value& from) {
    if (from.what != toml_value::kind::integer || !within(from.number, key))
        return false;
    to = static_cast<uint32_t>(from.integer);
    return true;
}

bool read_into(std::chrono::milliseconds& to, const setting_key& key, const toml_value& from) {
    const bool number = from.what == toml_value::kind::integer || from.what == toml_value::kind::number;
    if (!number || !within(from.number, key))
        return false;
    to = std::chrono::milliseconds(std::llround(from.number * 1000));
    return true;
}

bool read_into(uint64_t& to, const setting_key& key, const toml_value& from) {
    std::optional<uint64_t> bytes;
    if (from.what == toml_value::kind::text)
        bytes = parse_bytes(from.text);
    else if (from.what == toml_value::kind::integer && from.integer >= 0)
        bytes = static_cast<uint64_t>(from.integer);
    if (!bytes || !within(static_cast<double>(*bytes), key))
        return false;
    to = *bytes;
    return true;
}

bool read_into(std::vector<uint32_t>& to, const setting_key& /*key*/, const toml_value& from) {
    const std::optional<std::vector<uint32_t>> cores =
        from.what == toml_value::kind::text ? parse_cores(from.text) : std::nullopt;
    to = cores.value_or(to);
    return cores.has_value();
}

template<typename T, typename = std::enable_if_t<std::is_enum_v<T>>>
bool read_into(T& to, const setting_key& /*key*/, const toml_value& from) {
    const std::optional<T> value = from.what == toml_value::kind::text ? parse_word<T>(from.text) : std::nullopt;
    to = value.value_or(to);
    return value.has_value();
}

// ---- and back to text ----

std::string printed(const std::string& value) {
    return toml_text(value);
}
std::string printed(bool value) {
    return value ? "true" : "false";
}
std::string printed(const std::optional<uint32_t>& value) {
    return value ? std::to_string(*value) : "";
}
std::string printed(std::chrono::milliseconds value) {
    return seconds_text(value);
}
std::string printed(uint64_t value) {
    return toml_text(bytes_text(value));
}
std::string printed(const std::vector<uint32_t>& value) {
    return toml_text(ranges_text(value));
}
template<typename T, typename = std::enable_if_t<std::is_enum_v<T>>>
std::string printed(T value) {
    return toml_text(word_of(value));
}

// ---- the table ----

template<auto Member>
setting_row make(std::string_view table, std::string_view name, std::string_view type, double lowest, double highest,
                 std::string_view meaning) {
    const auto text = [](const settings& from) { return printed(from.*Member); };
    return {
        {table, name, type, lowest, highest, meaning, text(settings{}), text},
        [](settings& to, const setting_key& key, const toml_value& from) { return read_into(to.*Member, key, from); }};
}

constexpr double mebibyte = 1 << 20;
constexpr double longest_path = 4095;  // Linux PATH_MAX, without its zero byte
constexpr double longest_socket = 107; // Linux sockaddr_un, without its zero byte

} // namespace

const std::vector<setting_row>& setting_rows() {
    using s = settings;
    static const std::vector<setting_row> all{
        make<&s::socket>("agent", "socket", "path", 1, longest_socket, "socket at which the plugin reaches the agent"),
        make<&s::runtime_directory>("agent", "runtime_directory", "path", 1, longest_path,
                                    "directory of node.json, the state of the node that everybody may read"),
        make<&s::state_directory>("agent", "state_directory", "path", 1, longest_path,
                                  "directory of what must outlive a reboot: markers of running probes"),

        make<&s::scontrol>("slurm", "scontrol", "path", 1, longest_path,
                           "program that drains a node and requeues a job"),
        make<&s::scancel>("slurm", "scancel", "path", 1, longest_path, "program that ends a job or a step"),
        make<&s::slurmd>("slurm", "slurmd", "path", 1, longest_path,
                         "program that tells in which order Slurm counts the GPUs of this node"),
        make<&s::slurm_conf>(
            "slurm", "slurm_conf", "path", 0, longest_path,
            "slurm.conf for these programs; empty: what Slurm told the plugin, else Slurm's own default"),
        make<&s::drain>("slurm", "drain", "truth", 0, 1,
                        "whether a faulty node is drained; if not, it is only reported"),
        make<&s::gpus_without_gres>("slurm", "gpus_without_gres", words<gres_policy>, 0, 0,
                                    "what a job gets where Slurm counts no GPUs: an error, or, if the site gives "
                                    "nodes away as a whole, all GCDs"),

        make<&s::expected_gcds>("discovery", "expected_gcds", "count", 0, 1024,
                                "how many GCDs this node must have; not set: as many as are found"),
        make<&s::smi_library>("discovery", "smi_library", "path", 0, longest_path,
                              "file of librocm_smi64 to load; empty: ROCM_SMI_LIB_PATH, then the known names"),
        make<&s::discovery_deadline>("discovery", "deadline", "seconds", 0.5, 600,
                                     "how long looking at the devices may take"),

        make<&s::probe_default>("probe", "default", words<probe_level>, 0, 0,
                                "how thorough the probes before a job are when it does not say"),
        make<&s::probe_min>("probe", "min", words<probe_level>, 0, 0, "the least that a job may ask for"),
        make<&s::probe_max>("probe", "max", words<probe_level>, 0, 0, "the most that a job may ask for"),
        make<&s::probe_program>("probe", "program", "path", 0, longest_path,
                                "program of the probes; empty: amd-gpu-probe beside amd-gpu-agent, then in libexec"),
        make<&s::probe_user>("probe", "user", "text", 1, 32, "the unprivileged user that probes run as"),
        make<&s::hip_library>("probe", "hip_library", "path", 0, longest_path,
                              "file of libamdhip64 that probes load; empty: their own search"),
        make<&s::floors_directory>("probe", "floors_directory", "path", 1, longest_path,
                                   "directory of the least acceptable measurements, one file per processor"),
        make<&s::gcd_bytes>("probe", "gcd_bytes", "bytes", 16 * mebibyte, 65536 * mebibyte,
                            "size of one array in the memory of a GCD"),
        make<&s::link_bytes>("probe", "link_bytes", "bytes", mebibyte, 8192 * mebibyte,
                             "bytes copied over a link at a time"),
        make<&s::probe_deadline>("probe", "deadline", "seconds", 0.5, 600, "how long the probes before a job may take"),

        make<&s::environments_directory>("environment", "directory", "path", 1, longest_path,
                                         "directory of the definitions of the site's environments"),
        make<&s::default_environment>("environment", "default", "text", 0, 255,
                                      "name of the environment of jobs that name none; empty: none"),
        make<&s::index>("environment", "index", "path", 1, longest_path,
                        "directory of the records of variants that were realised for the site"),
        make<&s::user_index>("environment", "user_index", "text", 0, longest_path,
                             "the same of a user's own, with {home} or {user} in it; empty: users have none"),

        make<&s::cache_directory>("cache", "directory", "path", 1, longest_path,
                                  "directory on a disk of this node for software that was fetched"),
        make<&s::cache_limit>("cache", "limit", "bytes", 16 * mebibyte, 1e15,
                              "how much fetched software is kept when no job uses it"),
        make<&s::fetch_user>("cache", "user", "text", 1, 32, "the unprivileged user that downloads run as"),

        make<&s::index_refresh>("bundle", "refresh", "seconds", 1, 86400,
                                "how long the index of an image server is used before the server is asked again"),
        make<&s::connect_limit>("bundle", "connect_limit", "seconds", 0.1, 600,
                                "how long it may take to reach one server"),
        make<&s::stall_limit>("bundle", "stall_limit", "seconds", 1, 3600,
                              "how long a server may send next to nothing before another one is asked"),
        make<&s::download_limit>("bundle", "limit", "seconds", 1, 864000,
                                 "how long one image may take, even if the job would wait longer"),
        make<&s::ca_file>("bundle", "ca_file", "path", 0, longest_path,
                          "file of the certificates that servers are trusted by; empty: the system's"),
        make<&s::proxy>("bundle", "proxy", "text", 0, longest_path,
                        "proxy for all servers, such as http://proxy:3128; empty: none"),
        make<&s::no_proxy>("bundle", "no_proxy", "text", 0, longest_path,
                           "hosts and domains that are reached without the proxy, separated by commas"),

        make<&s::guix_program>("guix", "program", "path", 1, longest_path,
                               "program of GNU Guix that realises variants"),
        make<&s::guix_user>("guix", "user", "text", 1, 32,
                            "the unprivileged user that evaluates packages when root realises"),
        make<&s::guix_silence>("guix", "silence", "seconds", 60, 864000,
                               "how long a build may say nothing before it is given up"),

        make<&s::mask>("job", "mask", words<mask_mode>, 0, 0,
                       "which GCDs a task sees when the job does not say: its own, the job's, or what Slurm set"),
        make<&s::bind>(
            "job", "bind", words<bind_mode>, 0, 0,
            "which cores a task gets when the job does not say: those nearest to its GCD, or what Slurm set"),
        make<&s::on_service_fault>("job", "on_service_fault", words<fault_policy>, 0, 0,
                                   "what happens to a job when neither it nor the node is at fault"),
        make<&s::apu_xnack>("job", "apu_xnack", "truth", 0, 1,
                            "whether tasks on APUs get HSA_XNACK=1 when they do not set it themselves"),
        make<&s::job_cache_directory>("job", "cache_directory", "path", 0, longest_path,
                                      "directory on a disk of this node for the caches of each job; empty: none"),
        make<&s::reserved_cores>("job", "reserved_cores", "cores", 0, highest_core,
                                 "hardware threads that no task is bound to"),
    };
    return all;
}

std::optional<probe_level> parse_probe_level(std::string_view text) {
    return parse_word<probe_level>(text);
}
std::optional<mask_mode> parse_mask_mode(std::string_view text) {
    return parse_word<mask_mode>(text);
}
std::optional<bind_mode> parse_bind_mode(std::string_view text) {
    return parse_word<bind_mode>(text);
}
std::optional<fault_policy> parse_fault_policy(std::string_view text) {
    return parse_word<fault_policy>(text);
}
std::string_view text_of(probe_level level) {
    return word_of(level);
}
std::string_view text_of(mask_mode mode) {
    return word_of(mode);
}
std::string_view text_of(bind_mode mode) {
    return word_of(mode);
}
std::string_view text_of(fault_policy policy) {
    return word_of(policy);
}

} // namespace amd_gpu
