// The least acceptable measurements, floors/*.toml: every figure with where it comes from. A measurement without a
// floor is neither good nor bad.
#pragma once

#include "node/node.hpp"
#include "result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// One row of a floors file.
struct floor_value {
    std::string processor;                 ///< "gfx90a"
    std::optional<uint32_t> compute_units; ///< only dies with so many; any when empty
    std::string probe;                     ///< "hbm_copy", "fma64", "link"
    std::optional<uint32_t> links;         ///< for "link": how many xGMI links the pair has
    double floor = 0;                      ///< in `unit`; less is a failure
    std::string unit;
    std::string source; ///< provenance of the figure
    std::string file;
};

using floor_table = std::vector<floor_value>;

/// Reads every *.toml of a directory, strictly. No directory: an empty table. Errors carry "FILE:LINE: ...".
result<floor_table> load_floors(const std::string& directory);

/// The floor for a probe on a GCD: the row for its processor that also names its CU count wins over one that names
/// none.
const floor_value* find_floor(const floor_table& table, const gcd& die, std::string_view probe);
/// The floor for a pair with so many xGMI links; null without a row.
const floor_value* find_link_floor(const floor_table& table, const gcd& from, uint32_t links);

} // namespace amd_gpu
