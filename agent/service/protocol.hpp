// What travels over the agent's socket: messages of key=value records, as a pure pair of encode and decode. The plugin
// and the agent share it. A message is a 32-bit little-endian length and that many bytes of NUL-terminated "key=value"
// records (the form of environ). Keys may repeat; their order is kept. No allocation is larger than the length allows.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace amd_gpu {

/// The version that this build speaks; a peer one version away is understood, unknown keys are ignored.
inline constexpr uint32_t protocol_version = 1;
/// The most bytes that follow a length: room for a node of 64 partitions as JSON, with the links of all pairs and every
/// fact's source, and for no attack.
inline constexpr uint32_t message_limit = 2U << 20;

/// A message: records in order.
class message {
  public:
    message() = default;
    explicit message(std::string_view kind) { add("kind", kind); }

    message& add(std::string_view key, std::string_view value);
    /// The first value of a key; nothing when it is absent.
    [[nodiscard]] std::optional<std::string_view> get(std::string_view key) const;
    /// The first value of a key, or an empty text.
    [[nodiscard]] std::string_view text(std::string_view key) const { return get(key).value_or(""); }
    /// The first value of a key as a decimal number.
    [[nodiscard]] std::optional<uint64_t> number(std::string_view key) const;
    /// All values of a key, in order.
    [[nodiscard]] std::vector<std::string_view> all(std::string_view key) const;
    [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& records() const { return records_; }

    bool operator==(const message&) const = default;

  private:
    std::vector<std::pair<std::string, std::string>> records_;
};

/// The bytes of a message, length included. Errors: a key that is empty or has '=' or NUL in it, a value with NUL, too
/// long.
result<std::string> encode(const message& what);
/// The length that the first four bytes announce. Errors: above message_limit.
result<uint32_t> decode_length(const unsigned char (&header)[4]);
/// The message in the bytes after the length. Errors (peer): no final NUL, a record without '=' or with an empty key.
result<message> decode(std::string_view body);

} // namespace amd_gpu
