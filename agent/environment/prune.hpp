// Removing variants that newer ones have replaced. In two steps, so that nothing is taken from under a running job:
// a superseded record is retired first, and no new job gets it; after longer than any job may run, it is deleted with
// its root, and a garbage collector may have the files.
#pragma once

#include "environment/variant_index.hpp"

#include <chrono>
#include <ctime>

namespace amd_gpu {

struct pruned {
    std::vector<std::string> retired;
    std::vector<std::string> deleted;
    std::vector<variant> released; ///< those deleted whose place no other record names: nobody will use the files
};

/// The root for a garbage collector that keeps a variant alive. Its record holds the name as provenance "root".
std::string root_path(const std::string& directory, const std::string& name);

/// Prunes the records of one environment, or of all when `environment` is empty. `dry_run`: only says what would be
/// done. Errors: an index that cannot be read or written.
result<pruned> prune_index(const std::string& directory, const std::string& environment, uid_t owner,
                           std::chrono::seconds older_than, std::time_t now, bool dry_run);

} // namespace amd_gpu
