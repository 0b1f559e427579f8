// The map of ranks as a table for people.
#pragma once

#include "placement/placement.hpp"

#include <optional>
#include <string>
#include <vector>

namespace amd_gpu {

/// What the table says of a GCD.
struct gcd_label {
    uint32_t index = 0;
    std::string bdf;
    std::optional<uint32_t> numa;
};

/// A heading and a line for each rank and each further GCD of it: rank, node, GCD, BDF, NUMA node, CPUs, remark.
/// `ranks` are the rows' numbers in the whole step.
std::vector<std::string> map_lines(const std::string& node, const std::vector<rank_place>& rows,
                                   const std::vector<gcd_label>& gcds, const std::vector<uint32_t>& ranks);

} // namespace amd_gpu
