// Gathers what doctor's checks judge. Device files are opened in a child, because an open can hang in the driver; Slurm
// is asked through scontrol with five seconds at most.
#pragma once

#include "configuration/settings.hpp"
#include "doctor/hip_checks.hpp"
#include "doctor/slurm_checks.hpp"
#include "result.hpp"
#include "service/slurm_gpus.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// What Slurm is set to, as far as this host can see it.
struct slurm_facts {
    slurm_settings settings;
    std::optional<std::string> cgroup_conf; ///< text of the file beside slurm.conf
    std::optional<std::string> gres_conf;   ///< the same of gres.conf
    std::optional<std::string>
        plugstack;                     ///< text of PlugStackConfig's file, or the one beside slurm.conf, with includes
    std::optional<bool> plugin_exists; ///< the file that it names, in PluginDir unless it has a slash
    std::optional<uint32_t> plugin_built_for; ///< plugin_version of that file
    std::optional<slurm_node> this_node;
    std::optional<gres_devices> gpus; ///< slurmd's list; asked by root only
};

/// Asks Slurm and reads its files. Errors: scontrol is not there (not_found) or does not answer.
result<slurm_facts> read_slurm(const settings& site);

/// Slurm's release, "22.05.8", as scontrol tells it without asking the controller. Nothing when it does not run.
std::optional<std::string> slurm_release(const settings& site);

/// Whether the daemon answers its socket; asked as root only, else unknown.
std::optional<bool> agent_answers(const settings& site);

/// What HIP is to a process with these variables ("NAME=value"): asks amd-gpu-probe, which loads the runtime, in a
/// child with the deadline of probes. `library` is a path, or empty for the runtime that such a process finds. Nothing
/// when the child cannot be run or says nothing.
std::optional<hip_view> ask_hip(const settings& site, const std::vector<std::string>& variables,
                                const std::string& library);

/// The directories of a list such as LD_LIBRARY_PATH that hold a library of ROCm.
std::vector<library_directory> rocm_directories(const std::string& list);

/// Opens /dev/kfd and the render nodes of a node as the calling user, in a child with its own deadline of five seconds.
/// Empty when the child does not answer.
std::vector<opened_device> open_devices(const node& here);

/// That child: opens each file and prints "ERRNO PATH" a line. Gives its exit status.
int open_devices_here(const std::vector<std::string>& paths);

} // namespace amd_gpu
