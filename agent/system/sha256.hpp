// SHA-256 (FIPS 180-4) by libcrypto, as 64 lower-case hexadecimal digits.
#pragma once

#include "result.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace amd_gpu {

/// Of bytes that come piece by piece.
class sha256 {
  public:
    sha256();
    sha256(sha256&&) noexcept;
    sha256& operator=(sha256&&) noexcept;
    ~sha256();

    void add(std::string_view bytes);
    /// Ends it; nothing can be added afterwards.
    std::string digits();

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Of a text.
std::string sha256_of(std::string_view text);
/// Of what an open file holds, from its beginning. Error: it cannot be read.
result<std::string> sha256_of_file(int descriptor);

} // namespace amd_gpu
