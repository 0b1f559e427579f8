// What a probe child reports, as plain data, and how one line of its output is read. Pure.
#pragma once

#include "node/node.hpp"
#include "result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// A number with its unit, for one GCD.
struct measurement {
    std::string probe; ///< "hbm_copy", "pattern", "fma64"
    gcd_id bdf;
    double value = 0;
    std::string unit; ///< "GB/s", "TFLOP/s", "errors"
    double seconds = 0;
};

/// Bandwidth from one GCD to another, with whether the bytes that arrived were the ones that were sent.
struct link_measurement {
    gcd_id from;
    gcd_id to;
    double gb_per_s = 0;
    bool verified = false;
};

/// A HIP call that failed, or a deadline that passed.
struct probe_error {
    std::string probe;
    std::optional<gcd_id> bdf;
    std::string call; ///< "hipMalloc"; empty when no call failed
    std::optional<int> code;
    std::string text;
};

/// Everything that one child said.
struct probe_report {
    std::vector<measurement> measurements;
    std::vector<link_measurement> links;
    std::vector<probe_error> errors;
    std::vector<std::string> mismatches; ///< "pattern index 4711 expected 0x.. found 0x.. (bit 17)"
    bool started = false;                ///< it had loaded the runtime and found its devices
    bool ended = false;                  ///< its last line arrived
};

/// Adds one line of JSON to a report. Errors (peer): the line is not what amd-gpu-probe(8) documents.
status add_line(probe_report& report, std::string_view line);

} // namespace amd_gpu
