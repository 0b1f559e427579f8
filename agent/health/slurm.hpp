// Telling Slurm about a fault, through scontrol and scancel. Used only after a fault, only by the agent: a healthy
// launch asks slurmctld nothing. Every call has five seconds.
#pragma once

#include "configuration/settings.hpp"
#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

class slurm_control {
  public:
    /// `conf`: the slurm.conf to use; empty means Slurm's own default.
    slurm_control(const settings& site, std::string conf);

    /// Drains a node with a reason. A node that somebody else has taken out of service keeps that reason (then the
    /// result is false). Errors: slurmctld does not answer or refuses.
    [[nodiscard]] result<bool> drain(const std::string& node, const std::string& reason) const;

    /// What must be known of a job before anything is done to it.
    struct job_record {
        std::string name;   ///< what scontrol and scancel take for this job alone: "4711", or "4711_3" in an array,
                            ///< because the array's own id stands for all of its tasks
        std::string leader; ///< the job to requeue: of a heterogeneous job the first component, else the job itself
        bool batch = false; ///< has a script
        std::string state;  ///< "PENDING", "RUNNING", "COMPLETING"
    };
    [[nodiscard]] result<job_record> look_up(uint32_t job) const;

    enum class requeue_answer {
        requeued,
        not_batch,   ///< srun or salloc: such a job can only be ended
        not_allowed, ///< submitted with --no-requeue
    };
    /// Puts a batch job back into the queue. A job that is pending already counts as requeued: another bad node was
    /// faster.
    [[nodiscard]] result<requeue_answer> requeue(const job_record& job) const;
    /// Lets a requeued job start at once, not after Slurm's two minutes of penance.
    [[nodiscard]] status start_now(const job_record& job) const;
    /// Prints a line on the terminal of the job's srun or salloc.
    [[nodiscard]] status notify(const job_record& job, const std::string& line) const;
    /// Leaves a line where `scontrol show job` shows it.
    [[nodiscard]] status comment(const job_record& job, const std::string& line) const;
    /// Ends a job, or only one of its steps.
    [[nodiscard]] status cancel(const job_record& job, std::optional<uint32_t> step) const;

  private:
    /// Runs one of Slurm's commands; gives its output.
    [[nodiscard]] result<std::string> call(const std::string& program, const std::vector<std::string>& arguments) const;
    /// The same where only success counts.
    [[nodiscard]] status order(const std::string& program, const std::vector<std::string>& arguments) const;

    const settings& site_;
    std::string conf_;
};

/// The record of a job in the output of `scontrol -o show job`, which has a line for every task of an array. Nothing
/// when no line is about it.
std::optional<slurm_control::job_record> job_record_in(const std::string& output, uint32_t job);

/// The value of NAME=value in a line of `scontrol -o show`; values end at a space that begins another NAME=.
std::optional<std::string> scontrol_field(const std::string& line, const std::string& name);

} // namespace amd_gpu
