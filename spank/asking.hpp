// From the option to the question that the agent is asked. Pure.
#pragma once

#include "service/exchange.hpp"
#include "spank/option.hpp"

namespace amd_gpu {

/// The part of a request to the agent that the option decides; job, node and GPUs are for the caller to fill in.
/// `by_default`: every job of the site gets the option "auto", so that a bare one does not show that anybody asked.
preparation_request request_for(const request& option, bool by_default = false);

} // namespace amd_gpu
