#include "service/protocol.hpp"

#include <charconv>

namespace amd_gpu {

message& message::add(std::string_view key, std::string_view value) {
    records_.emplace_back(key, value);
    return *this;
}

std::optional<std::string_view> message::get(std::string_view key) const {
    for (const auto& [name, value] : records_)
        if (name == key)
            return value;
    return std::nullopt;
}

std::optional<uint64_t> message::number(std::string_view key) const {
    const auto digits = get(key);
    if (!digits)
        return std::nullopt;
    uint64_t value = 0;
    const auto [end, problem] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
    if (problem != std::errc{} || end != digits->data() + digits->size())
        return std::nullopt;
    return value;
}

std::vector<std::string_view> message::all(std::string_view key) const {
    std::vector<std::string_view> values;
    for (const auto& [name, value] : records_)
        if (name == key)
            values.emplace_back(value);
    return values;
}

result<std::string> encode(const message& what) {
    std::string bytes(4, '\0');
    for (const auto& [key, value] : what.records()) {
        if (key.empty() || key.find('=') != std::string::npos || key.find('\0') != std::string::npos)
            return error{error_code::internal, "a message key must not be empty or hold '=' or NUL"};
        if (value.find('\0') != std::string::npos)
            return error{error_code::internal, "the message value of " + key + " holds a NUL"};
        bytes.append(key).append(1, '=').append(value).append(1, '\0');
    }
    const std::size_t body = bytes.size() - 4;
    if (body > message_limit)
        return error{error_code::internal, "a message of " + std::to_string(body) + " bytes is above the limit"};
    for (unsigned byte = 0; byte < 4; ++byte)
        bytes[byte] = static_cast<char>((body >> (8 * byte)) & 0xff);
    return bytes;
}

result<uint32_t> decode_length(const unsigned char (&header)[4]) {
    uint32_t length = 0;
    for (unsigned byte = 0; byte < 4; ++byte)
        length |= static_cast<uint32_t>(header[byte]) << (8 * byte);
    if (length > message_limit)
        return error{error_code::peer, "the peer announces a message of " + std::to_string(length) + " bytes"};
    return length;
}

result<message> decode(std::string_view body) {
    message read;
    if (!body.empty() && body.back() != '\0')
        return error{error_code::peer, "a message does not end with NUL"};
    while (!body.empty()) {
        const auto end = body.find('\0');
        const auto record = body.substr(0, end);
        const auto equals = record.find('=');
        if (equals == std::string_view::npos || equals == 0)
            return error{error_code::peer, "a message record is not key=value"};
        read.add(record.substr(0, equals), record.substr(equals + 1));
        body.remove_prefix(end + 1);
    }
    return read;
}

} // namespace amd_gpu
