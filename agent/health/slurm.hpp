// Telling Slurm about a fault, through scontrol and scancel. Used only after a fault, only by the agent: a healthy
// launch asks slurmctld nothing. Every call has five seconds.
#pragma once

#include "configuration/settings.hpp"
#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace amd_gpu {

class slurm_control {
  public:
    /// `conf`: the slurm.conf to use; empty means Slurm's own default.
    slurm_control(const settings& site, std::string conf);

    /// Drains a node with a reason. A node that somebody else has taken out of service keeps that reason (then the
    /// result is false). Errors: slurmctld does not answer or refuses.
    [[nodiscard]] result<bool> drain(const std::string& node, const std::string& reason) const;

    enum class requeue_answer {
        requeued,
        not_batch,   ///< srun or salloc: such a job can only be ended
        not_allowed, ///< submitted with --no-requeue
    };
    /// Puts a batch job back into the queue. A job that is pending already counts as requeued: another bad node was
    /// faster.
    [[nodiscard]] result<requeue_answer> requeue(uint32_t job) const;
    /// Lets a requeued job start at once, not after Slurm's two minutes of penance.
    [[nodiscard]] status start_now(uint32_t job) const;
    /// Prints a line on the terminal of the job's srun or salloc.
    [[nodiscard]] status notify(uint32_t job, const std::string& line) const;
    /// Leaves a line where `scontrol show job` shows it.
    [[nodiscard]] status comment(uint32_t job, const std::string& line) const;
    /// Whether a job has a batch script.
    [[nodiscard]] result<bool> is_batch(uint32_t job) const;
    /// Ends a job, or only one of its steps.
    [[nodiscard]] status cancel(uint32_t job, std::optional<uint32_t> step) const;

  private:
    [[nodiscard]] result<std::string> call(const std::string& program, const std::vector<std::string>& arguments) const;

    const settings& site_;
    std::string conf_;
};

/// The value of NAME=value in a line of `scontrol -o show`; values end at a space that begins another NAME=.
std::optional<std::string> scontrol_field(const std::string& line, const std::string& name);

} // namespace amd_gpu
