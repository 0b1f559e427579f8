// From the option to the question that the agent is asked. Pure.
#pragma once

#include "service/exchange.hpp"
#include "spank/option.hpp"

namespace amd_gpu {

/// The part of a request to the agent that the option decides; job, node and GPUs are for the caller to fill in.
preparation_request request_for(const request& option);

} // namespace amd_gpu
