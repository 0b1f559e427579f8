// What Slurm's settings must be for jobs to get their GPUs: the part of doctor's checks that judges what scontrol and
// Slurm's files say. Pure.
#pragma once

#include "doctor/checks.hpp"

#include <chrono>
#include <cstdint>
#include <functional>

namespace amd_gpu {

/// The settings that `scontrol show config` prints, name -> value; "(null)" is an empty value.
using slurm_settings = std::map<std::string, std::string>;
slurm_settings slurm_settings_in(std::string_view output);

/// A line of plugstack.conf that names our plugin.
struct plugin_line {
    bool required = false;
    std::string path; ///< as written: a name without a slash is looked up in PluginDir
};
/// Reads the files that an `include` line of plugstack.conf names by a pattern; nothing when one cannot be read.
using include_reader = std::function<std::optional<std::string>(const std::string& pattern)>;
/// plugstack.conf with the included files in the place of their lines. A line that cannot be followed stays.
std::string with_includes(std::string_view plugstack, const include_reader& read, int depth = 8);
/// The first line that loads amd_gpu.so. Nothing when there is none.
std::optional<plugin_line> plugin_line_in(std::string_view plugstack);

/// PrologFlags: Alloc and DeferBatch must be there, RunInJob must not (Slurm's slurm.conf(5)).
step check_prolog_flags(const slurm_settings& slurm);
/// Whether Slurm counts GPUs at all.
step check_gres_types(const slurm_settings& slurm);
/// Whether a job's devices are fenced: TaskPlugin has task/cgroup and cgroup.conf says ConstrainDevices=yes.
step check_fence(const slurm_settings& slurm, const std::optional<std::string>& cgroup_conf);
/// Whether a job's processes are all found at its end: one that is left behind would go on using its GPUs.
step check_tracking(const slurm_settings& slurm);
/// Whether PrologEpilogTimeout leaves time for a preparation, which may take so long.
step check_prolog_time(const slurm_settings& slurm, std::chrono::milliseconds preparation);
/// Whether plugstack.conf (its includes followed) loads our plugin, and its file is there (unknown: it could not be
/// looked up) and made for the Slurm that answered. `built_for` is the file's plugin_version.
step check_plugin(const slurm_settings& slurm, const std::optional<std::string>& plugstack,
                  const std::optional<bool>& file_exists, const std::optional<uint32_t>& built_for);
/// What gres.conf says that Slurm would trip over: a space in a list of files, a way of detection that there is not.
/// Nothing when there is no such thing.
std::optional<step> check_gres_conf(std::string_view gres_conf);

/// A node as Slurm has it.
struct slurm_node {
    std::string gres;   ///< "gpu:mi250x:8(S:0-3),nic:1"; empty: none
    std::string state;  ///< "IDLE+DRAIN"
    std::string reason; ///< why it is drained or down; empty: none
};
/// Reads what `scontrol show node NAME` prints. Nothing when there is no node in it.
std::optional<slurm_node> slurm_node_in(std::string_view output);
/// How many GPUs a GRES list of a node has. Nothing when an item of it cannot be understood.
std::optional<uint32_t> gpus_in_gres(std::string_view gres);
/// Whether Slurm counts as many GPUs here as there are. Unknown without a node.
step check_gres_count(const std::optional<slurm_node>& in_slurm, const node& here);
/// Whether Slurm gives work to the node. Nothing when it does, or when the node is not known.
std::optional<step> check_node_state(const std::optional<slurm_node>& in_slurm);
/// Whether every device file of gres.conf is a GCD of this node, and in which order Slurm counts them. `order` has a
/// GCD, or null, for each of Slurm's GPUs.
step check_gres_order(const std::vector<const gcd*>& order);

} // namespace amd_gpu
