// What the probe says: JSON objects, one a line, on standard output, each written at once so that a reader sees it even
// if the next call never returns. It owns the format; it judges nothing.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/answers.hpp"

namespace amd_gpu::probes {

using record = nlohmann::ordered_json;

/// Writes one line. A reader that went away is no error: nobody is left to tell.
void write_line(const record& line);

/// {"type":"measurement"}: VALUE in UNIT, got in SECONDS of device time with arrays of BYTES each.
record measurement(const std::string& probe, const std::string& bdf, double value, const std::string& unit,
                   double seconds, std::uint64_t bytes, std::optional<double> clock_mhz);

/// {"type":"mismatch"}: the first wrong 64-bit word, counted from the start of the array.
record mismatch(const std::string& probe, const std::string& bdf, const verification& found);

/// The numbers of the bits in which two words differ, lowest first.
std::vector<int> differing_bits(std::uint64_t expected, std::uint64_t found);

/// "0x" and 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t word);

} // namespace amd_gpu::probes
