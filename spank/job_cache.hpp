// The job's own directory for what its libraries cache on this node. Its place comes from the agent, which removes it
// when the job has ended.
#pragma once

#include "environment/edits.hpp"
#include "result.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace amd_gpu {

/// PARENT/JOBID of PARENT/JOBID/KEY.
std::string job_directory_of(const std::string& cache);

/// As root: makes a directory that is that user's alone. One that another task has made is fine; one that belongs to
/// somebody else, or is none, is an error.
status make_job_directory(const std::string& directory, uid_t user, gid_t group);

/// As the user: makes `cache`, inside that directory, and what the edits below name. What is there already is fine.
status make_caches(const std::string& cache);

/// Where the libraries of an environment are to keep what they compile, unless the user has said so.
std::vector<edit> cache_edits(const std::string& cache);

} // namespace amd_gpu
