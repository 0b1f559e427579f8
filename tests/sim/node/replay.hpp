// A node from an archive that `amd-gpu-agent snapshot` made: its files, and what follows from them. It trusts nothing
// in the archive, writes below the root that it is given and nowhere else.
#pragma once

#include "tests/sim/node/sandbox.hpp"

#include <string>

namespace sim {

struct replayed_node {
    node_view view;
    std::string hostname; ///< empty when the snapshot hides it
};

/// Reads the BYTES of an archive. Errors: it is damaged or hostile, or no snapshot of a schema that is known here.
result<replayed_node> read_snapshot(const std::string& bytes);

} // namespace sim
