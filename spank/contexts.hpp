// What the plugin does in each place where Slurm calls it. plugin.cpp decides which; one file each does it.
#pragma once

#include "spank/environment_file.hpp"
#include "spank/option.hpp"
#include "spank/plugin_settings.hpp"
#include "spank/spank_api.hpp"

#include <optional>

namespace amd_gpu {

/// What the plugin remembers within one process.
struct plugin_state {
    plugin_settings settings;
    std::string problem;              ///< what is wrong with the settings; jobs that ask for us must not run without us
    std::optional<carried_file> file; ///< what env=FILE stands for, when the option says so
    std::optional<request> option;    ///< as the option callback read it; nothing when the option was not given
};
plugin_state& state();
extern spank_option the_option;

/// Set by srun inside an allocation, read in slurmstepd: ending the step must then be enough.
inline constexpr const char* within_variable = "SLURM_AMD_GPU_WITHIN_ALLOCATION";
/// Set by srun when it was given --cpu-bind: the user's word against a site's default.
inline constexpr const char* binds_variable = "SLURM_AMD_GPU_USER_BINDS";
/// What env=FILE was read as (environment_file.hpp). Slurm hands it to the prolog without the first "SLURM_", and to
/// batch scripts and the shells of salloc under this name, so the steps of srun get it under the same.
inline constexpr const char* file_variable = "SLURM_SPANK_AMD_GPU_FILE";
inline constexpr const char* file_variable_of_job = "AMD_GPU_FILE";
inline constexpr const char* file_variable_of_prolog = "SPANK_AMD_GPU_FILE";

// srun, sbatch, salloc, as the user (submit.cpp)
int submit_init(spank_t spank);
int submit_option(const char* value);
int submit_post_option(spank_t spank);

// The prolog and epilog processes, as root (prolog.cpp)
int job_prolog(spank_t spank);
int job_epilog(spank_t spank);

// slurmstepd, as root, and the task, as the user (step.cpp)
int step_option(const char* value);
int step_post_option(spank_t spank);
int task_privileged(spank_t spank);
int task_start(spank_t spank);
int step_exit();

} // namespace amd_gpu
