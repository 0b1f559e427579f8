// Signatures in the form of minisign (https://jedisct1.github.io/minisign/, "Signature format"), checked and made with
// libcrypto: Ed25519 over a text, or over its BLAKE2b-512 hash.
#pragma once

#include "result.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Why a text is no public key of minisign ("RW" and 54 more characters); empty when it is one.
std::string public_key_mistake(std::string_view text);

/// Checks a signature (the text of a .minisig file) of a content. Any of the keys may have made it. Gives the trusted
/// comment, which is signed as well. Errors (peer): no signature, of a key that is not among these, or not of this
/// content.
result<std::string> verify_signature(std::string_view content, std::string_view signature,
                                     const std::vector<std::string>& keys);

/// A secret key, which signs.
class signing_key {
  public:
    /// Reads the text of a file that "minisign -G -W" wrote. Errors (usage): no secret key; one that is protected by a
    /// password.
    static result<signing_key> parse(std::string_view text);

    /// The public key that belongs to it, as one word.
    [[nodiscard]] std::string public_key() const;
    /// The text of a .minisig file, hashed form. `trusted`: a comment of one line.
    [[nodiscard]] result<std::string> sign(std::string_view content, std::string_view trusted) const;

  private:
    std::array<unsigned char, 8> id_{};
    std::array<unsigned char, 32> seed_{};
    std::array<unsigned char, 32> public_{};
};

} // namespace amd_gpu
