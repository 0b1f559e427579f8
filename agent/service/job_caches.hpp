// The directories in which a job's libraries keep what they compile on this node: PARENT/JOBID, the user's own and gone
// with the job, so that ranks do not fight over one database in a home directory. The plugin makes a job's directory
// when a task starts; this says where, and removes it.
#pragma once

#include "configuration/settings.hpp"
#include "system/deadline.hpp"

#include <functional>
#include <string>

namespace amd_gpu {

/// Where a job keeps caches of software of that key (variant::key()); empty when the site wants none.
std::string job_cache(const settings& site, uint32_t job, const std::string& key);

/// Makes PARENT: root's, and of all others to pass through only. Errors: it cannot be made, or it is someone else's.
status make_job_cache_parent(const settings& site);

/// Removes the directory of a job that has ended. What is in it goes in a child with the rights of the directory's
/// owner. Nothing to do is fine. Errors: not all of it could be removed before `until`.
status remove_job_cache(const settings& site, uint32_t job, deadline until);

/// Removes the directories of all jobs but those that are `alive`, as after a start: an agent that was killed could not
/// do it. Logs what could not be removed.
void remove_old_job_caches(const settings& site, const std::function<bool(uint32_t job)>& alive, deadline until);

/// Whether a job runs on this node: there is a slurmstepd of its. A user can imitate one, and so keep an old directory.
bool has_step_daemon(uint32_t job);

} // namespace amd_gpu
