// A preparation told to a person: the lines that `verbose` prints before the job starts. Pure.
#pragma once

#include "health/verdict.hpp"
#include "node/node.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// One row a GCD with its measurements against their floors, then the matrix of the pairs.
std::vector<std::string> probe_lines(const node& where, const std::vector<gcd_id>& bdfs,
                                     const std::vector<check_result>& checks);

/// The bandwidth from row to column in GB/s; "-" where nothing was measured and on the diagonal.
std::vector<std::string> matrix_lines(const node& where, const std::vector<gcd_id>& bdfs,
                                      const std::vector<check_result>& checks);

} // namespace amd_gpu
