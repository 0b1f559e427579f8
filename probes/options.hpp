// The command line of amd-gpu-probe: pure parsing, no output and no device.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gcd.hpp"
#include "result.hpp"

namespace amd_gpu::probes {

enum class command { gcd, pairs, devices, targets, help };

struct options {
    command what = command::help;
    std::vector<std::string> gcds; ///< normal form, as given: "0000:c1:00.0" or "0001:02:00.0/3"
    std::vector<std::string> probes{"hbm_copy", "pattern", "fma64"};
    settings sizes;       ///< every field is set after parsing
    double deadline = 60; ///< seconds for the whole process
    std::optional<std::string> hip_library;
};

/// What --help prints.
extern const char* const usage;

/// Parses the arguments after the program's name. Errors are all `usage`.
result<options> parse_options(const std::vector<std::string>& arguments);

/// "c1:00.0" or "0000:C1:00.0" as "0000:c1:00.0"; nothing when TEXT is no PCI address.
std::optional<std::string> normal_bdf(std::string_view text);

/// The same with "/N", the number of a partition from 0 to 63, behind it or not.
std::optional<std::string> normal_gcd(std::string_view text);

} // namespace amd_gpu::probes
