// The provider "bundle": variants are images on web servers, listed in a signed index. The node keeps the index that it
// verified last, and the highest version that it ever saw.
#pragma once

#include "environment/bundle_index.hpp"
#include "environment/provider.hpp"

namespace amd_gpu {

/// The variants of an environment, by the index of its tree. The server is asked only when the copy on this node is
/// older than bundle.refresh, and its answer counts only if it is signed, not older than what was seen before, and not
/// expired; until a good one comes, the copy counts for as long as it has not expired. Errors, none of them the job's:
/// no copy and no server that gives a good index (peer, timed_out), an index that has expired (peer).
result<std::vector<variant_candidate>> bundle_variants(const settings& site, const environment& of, deadline until,
                                                       const progress& say);

/// Whether an index may be used at this moment (seconds since 1970), given the highest version seen before. Error
/// (peer): it is older, or has expired.
status may_use(const bundle_index& index, uint64_t highest, int64_t now);

} // namespace amd_gpu
