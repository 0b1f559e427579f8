// Faults that show in the node's files. It owns the change that each of them makes to a model before it is written;
// what shows only when a GPU computes (slow memory, hangs, wrong bits) is the simulated HIP runtime's and passes
// through here with nothing but a check that the GCD exists.
#pragma once

#include "tests/sim/faults.hpp"
#include "tests/sim/node/model.hpp"

namespace sim {

/// Parses TEXT, a fault file known as NAME, and breaks the model accordingly. A line that is malformed or names a GCD
/// or a file that the model does not have is an error "NAME:LINE: ...".
status apply_faults(model& model, const std::string& text, const std::string& name);

} // namespace sim
