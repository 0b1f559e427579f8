// What a site can set: /etc/amd-gpu/amd-gpu.toml, read strictly. Unknown keys, wrong types and values out of range are
// errors with file and line; a missing file means the defaults below. Reading never writes.
#pragma once

#include "result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// How thorough an active test is; each level contains the ones before it.
enum class probe_level { off, quick, standard };
/// Which GCDs a task sees.
enum class mask_mode { none, job, rank };
/// Which cores a task is bound to.
enum class bind_mode { none, closest };
/// What a job gets that has no GPUs by Slurm's count, on a node whose GPUs Slurm does not count at all.
enum class gres_policy { refuse, exclusive_nodes };
/// What happens to a job when something that is neither its fault nor the node's went wrong.
enum class fault_policy { fail_job, run_anyway };

std::optional<probe_level> parse_probe_level(std::string_view text);
std::optional<mask_mode> parse_mask_mode(std::string_view text);
std::optional<bind_mode> parse_bind_mode(std::string_view text);
std::optional<fault_policy> parse_fault_policy(std::string_view text);
std::string_view text_of(probe_level level);
std::string_view text_of(mask_mode mode);
std::string_view text_of(bind_mode mode);
std::string_view text_of(fault_policy policy);

struct settings {
    // [agent]
    std::string socket = "/run/amd-gpu-agent/agent.sock";
    std::string runtime_directory = "/run/amd-gpu-agent";   ///< node.json
    std::string state_directory = "/var/lib/amd-gpu-agent"; ///< probe markers
    // [slurm]
    std::string scontrol = "/usr/bin/scontrol";
    std::string scancel = "/usr/bin/scancel";
    std::string slurmd = "/usr/sbin/slurmd";
    std::string slurm_conf; ///< the configuration for these three; empty: what the request says, else Slurm's default
    bool drain = true;      ///< false: a node fault is reported but the node stays in service
    gres_policy gpus_without_gres = gres_policy::refuse;
    // [discovery]
    std::optional<uint32_t> expected_gcds;
    std::string smi_library; ///< empty: ROCM_SMI_LIB_PATH, then the known sonames
    std::chrono::milliseconds discovery_deadline{10000};
    // [probe]
    probe_level probe_default = probe_level::quick;
    probe_level probe_min = probe_level::off;
    probe_level probe_max = probe_level::standard;
    std::string probe_program; ///< empty: amd-gpu-probe beside amd-gpu-agent, then in libexec
    std::string probe_user = "nobody";
    std::string hip_library; ///< empty: the probe's own search order
    std::string floors_directory = "/etc/amd-gpu/floors";
    uint64_t gcd_bytes = 1ULL << 30;   ///< size of one array in device memory
    uint64_t link_bytes = 64ULL << 20; ///< bytes copied over one link at a time
    std::chrono::milliseconds probe_deadline{8000};
    // [environment]
    std::string environments_directory = "/etc/amd-gpu/environments.d";
    std::string default_environment;                       ///< empty: none
    std::string index = "/var/lib/amd-gpu-agent/variants"; ///< records of what has been realised for the site
    /// The same of a user's own: "{home}" and "{user}" stand for the job's user. Empty: users have none.
    std::string user_index = "{home}/.local/state/amd-gpu/variants";
    // [cache]
    std::string cache_directory = "/var/cache/amd-gpu-agent"; ///< of this node, on a local disk
    uint64_t cache_limit = 64ULL << 30;                       ///< bytes of fetched software kept
    std::string fetch_user = "nobody";                        ///< downloads run as
    // [bundle]
    std::chrono::milliseconds index_refresh{300 * 1000};   ///< so long an index of images counts as new
    std::chrono::milliseconds connect_limit{5000};         ///< for reaching one server
    std::chrono::milliseconds stall_limit{15000};          ///< so long a server may send next to nothing
    std::chrono::milliseconds download_limit{1800 * 1000}; ///< for one image, whatever the job would wait
    std::string ca_file;                                   ///< certificates to trust; empty: the system's
    std::string proxy;                                     ///< empty: none
    std::string no_proxy;                                  ///< hosts and domains that need none, "a.example,.site"
    // [guix]
    std::string guix_program = "/usr/bin/guix";
    std::string guix_user = "nobody";                        ///< evaluates for root
    std::chrono::milliseconds guix_silence{6 * 3600 * 1000}; ///< after which a build is given up
    // [job]
    mask_mode mask = mask_mode::rank;
    bind_mode bind = bind_mode::closest;
    fault_policy on_service_fault = fault_policy::fail_job;
    bool apu_xnack = false; ///< tasks on APUs run with HSA_XNACK=1 unless they say otherwise
    std::string job_cache_directory = "/var/cache/amd-gpu-jobs"; ///< parent of the jobs' caches; empty: none
    std::vector<uint32_t> reserved_cores;                        ///< hardware threads that the site keeps from jobs

    bool operator==(const settings&) const = default;
};

/// One key of the file, for `config show`, the man page and error messages.
struct setting_key {
    std::string_view table; ///< "probe"
    std::string_view name;  ///< "deadline"
    std::string_view type; ///< "path", "text", "count", "seconds", "bytes", "cores", or its words: "off|quick|standard"
    double lowest = 0;     ///< for count, seconds and bytes; for path and text the length in bytes
    double highest = 0;
    std::string_view meaning;
    std::string initial; ///< default as it would be written in the file; empty: not set
    /// What it holds, as it would be written in the file; empty: not set.
    std::string (*text)(const settings&) = nullptr;
};
/// All keys, table by table. There is one table of them, and it also drives load_settings.
const std::vector<setting_key>& setting_keys();

/// Reads the file. Not there: the defaults. Every other failure is a configuration error; it holds everything that is
/// wrong, one "FILE:LINE: ..." a line.
result<settings> load_settings(const std::string& path);

} // namespace amd_gpu
