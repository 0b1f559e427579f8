// A node as text for people: the table of its GCDs, the links between them, where each fact comes from. Pure: from a
// node to text, for terminals of 100 columns; an unknown fact is "-".
#pragma once

#include "node/node.hpp"

#include <string>

namespace amd_gpu {

/// One row a GCD and what was found wrong, with the three counts and the versions. GCDs that are partitions stand below
/// a line that names their board.
std::string node_overview(const node& what);

/// The peak bandwidth of every pair that a direct link joins. With more than 16 GCDs, the same between boards.
std::string node_topology(const node& what);

/// Every known fact of every GCD with its source, one a line.
std::string node_explanation(const node& what);

} // namespace amd_gpu
