// SHA-256 for the plugin, which links no library: FIPS 180-4, section 6.2. One file of at most 1 MiB is digested, so
// there is nothing here for speed.
#pragma once

#include <string>
#include <string_view>

namespace amd_gpu {

/// The digest as 64 lower-case hexadecimal digits.
std::string sha256_digits(std::string_view bytes);

} // namespace amd_gpu
