#include "system/minisign.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <openssl/evp.h>
#include <optional>

namespace amd_gpu {

namespace {

constexpr std::size_t id_size = 8;
constexpr std::size_t key_size = 32;
constexpr std::size_t signature_size = 64;
constexpr std::size_t word_size = 2; // "Ed": the algorithm
constexpr std::string_view plain_algorithm = "Ed";
constexpr std::string_view hashed_algorithm = "ED";
constexpr std::string_view untrusted_prefix = "untrusted comment: ";
constexpr std::string_view trusted_prefix = "trusted comment: ";
constexpr std::size_t longest_signature = 4096;
// Algorithm, key derivation, checksum kind; salt, two limits; id, seed and public key, checksum.
constexpr std::size_t secret_id_at = 3 * word_size + 32 + 2 * 8;
constexpr std::size_t secret_size = secret_id_at + id_size + 2 * key_size + 32;

using key_pointer = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using context_pointer = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of_bytes(const unsigned char* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

std::string to_base64(std::string_view bytes) {
    std::vector<unsigned char> text(bytes.size() / 3 * 4 + 5);
    const int size = ::EVP_EncodeBlock(text.data(), bytes_of(bytes), static_cast<int>(bytes.size()));
    return text_of_bytes(text.data(), static_cast<std::size_t>(size));
}

/// Strict: no white space, the right padding. Nothing on anything else.
std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    if (text.empty() || text.size() % 4 != 0 ||
        text.substr(0, text.size() - padding).find_first_not_of(letters) != std::string_view::npos)
        return std::nullopt;
    std::vector<unsigned char> bytes(text.size() / 4 * 3);
    const int size = ::EVP_DecodeBlock(bytes.data(), bytes_of(text), static_cast<int>(text.size()));
    if (size < 0 || static_cast<std::size_t>(size) != bytes.size())
        return std::nullopt;
    std::string decoded = text_of_bytes(bytes.data(), bytes.size() - padding);
    // Bits that no byte takes must be zero: no two texts are the same signature.
    return to_base64(decoded) == text ? std::optional(std::move(decoded)) : std::nullopt;
}

struct public_key {
    std::string id;
    std::string key;
};

std::optional<public_key> parse_public(std::string_view text) {
    const auto bytes = from_base64(trimmed(text));
    if (!bytes || bytes->size() != word_size + id_size + key_size || !bytes->starts_with(plain_algorithm))
        return std::nullopt;
    return public_key{bytes->substr(word_size, id_size), bytes->substr(word_size + id_size)};
}

/// What a .minisig file holds.
struct signature_parts {
    bool hashed = false;
    std::string id;
    std::string signature;
    std::string trusted;
    std::string global;
};

std::optional<signature_parts> parse_signature(std::string_view text) {
    if (text.size() > longest_signature)
        return std::nullopt;
    std::vector<std::string> lines = split(text, '\n');
    for (std::string& line : lines)
        if (line.ends_with('\r'))
            line.pop_back();
    if (lines.size() == 5 && lines.back().empty())
        lines.pop_back();
    if (lines.size() != 4 || !lines[0].starts_with(untrusted_prefix) || !lines[2].starts_with(trusted_prefix))
        return std::nullopt;
    const auto first = from_base64(lines[1]);
    const auto second = from_base64(lines[3]);
    if (!first || first->size() != word_size + id_size + signature_size || !second || second->size() != signature_size)
        return std::nullopt;
    const std::string_view algorithm = std::string_view(*first).substr(0, word_size);
    if (algorithm != plain_algorithm && algorithm != hashed_algorithm)
        return std::nullopt;
    return signature_parts{algorithm == hashed_algorithm, first->substr(word_size, id_size),
                           first->substr(word_size + id_size), lines[2].substr(trusted_prefix.size()), *second};
}

std::string blake2b(std::string_view content) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    ::EVP_Digest(content.data(), content.size(), digest.data(), &size, ::EVP_blake2b512(), nullptr);
    return text_of_bytes(digest.data(), size);
}

bool holds(std::string_view content, std::string_view signature, const std::string& key) {
    const key_pointer known(::EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(key), key.size()),
                            ::EVP_PKEY_free);
    const context_pointer context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
    return known && context && ::EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, known.get()) == 1 &&
           ::EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(content),
                              content.size()) == 1;
}

/// The signature; empty when libcrypto fails.
std::string signed_by(EVP_PKEY* key, std::string_view content) {
    const context_pointer context(::EVP_MD_CTX_new(), ::EVP_MD_CTX_free);
    std::array<unsigned char, signature_size> made{};
    std::size_t size = made.size();
    if (!context || ::EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
        ::EVP_DigestSign(context.get(), made.data(), &size, bytes_of(content), content.size()) != 1)
        return {};
    return text_of_bytes(made.data(), size);
}

} // namespace

std::string public_key_mistake(std::string_view text) {
    return parse_public(text) ? "" : "is no public key of minisign, such as \"RW...\" with 56 characters";
}

result<std::string> verify_signature(std::string_view content, std::string_view signature,
                                     const std::vector<std::string>& keys) {
    const auto parts = parse_signature(signature);
    if (!parts)
        return error{error_code::peer, "its signature is not in minisign's form"};
    const std::string hash = parts->hashed ? blake2b(content) : std::string();
    bool known = false;
    for (const std::string& text : keys) {
        const auto key = parse_public(text);
        if (!key || key->id != parts->id)
            continue;
        known = true;
        if (holds(parts->hashed ? std::string_view(hash) : content, parts->signature, key->key) &&
            holds(parts->signature + parts->trusted, parts->global, key->key))
            return parts->trusted;
    }
    return error{error_code::peer,
                 known ? "its signature does not fit its content" : "it is signed by a key that is not trusted here"};
}

result<signing_key> signing_key::parse(std::string_view text) {
    const auto refused = [](const char* why) { return error{error_code::usage, why}; };
    const std::vector<std::string> lines = split(trimmed(text), '\n');
    const auto bytes = lines.size() == 2 ? from_base64(trimmed(lines[1])) : std::nullopt;
    if (!bytes || bytes->size() != secret_size || !bytes->starts_with(plain_algorithm))
        return refused("no secret key of minisign");
    if ((*bytes)[word_size] != '\0' || (*bytes)[word_size + 1] != '\0')
        return refused("the secret key is protected by a password; sign index.json with minisign -S, or make a key "
                       "without one: minisign -G -W");
    signing_key key;
    const char* at = bytes->data() + secret_id_at;
    std::memcpy(key.id_.data(), at, id_size);
    std::memcpy(key.seed_.data(), at + id_size, key_size);
    std::memcpy(key.public_.data(), at + id_size + key_size, key_size);
    // The two halves must belong together: the format's own checksum is not filled in without a password.
    const key_pointer loaded(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, key.seed_.data(), key_size),
                             ::EVP_PKEY_free);
    std::array<unsigned char, key_size> belongs{};
    std::size_t size = belongs.size();
    if (!loaded || ::EVP_PKEY_get_raw_public_key(loaded.get(), belongs.data(), &size) != 1 || belongs != key.public_)
        return refused("the secret key is damaged");
    return key;
}

std::string signing_key::public_key() const {
    return to_base64(std::string(plain_algorithm) + text_of_bytes(id_.data(), id_.size()) +
                     text_of_bytes(public_.data(), public_.size()));
}

result<std::string> signing_key::sign(std::string_view content, std::string_view trusted) const {
    const key_pointer loaded(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed_.data(), seed_.size()),
                             ::EVP_PKEY_free);
    const std::string signature = loaded ? signed_by(loaded.get(), blake2b(content)) : std::string();
    const std::string global =
        signature.empty() ? std::string() : signed_by(loaded.get(), signature + std::string(trusted));
    if (global.empty())
        return error{error_code::internal, "libcrypto cannot sign"};
    return fmt::format("{}signature of slurm-amd-gpu\n{}\n{}{}\n{}\n", untrusted_prefix,
                       to_base64(std::string(hashed_algorithm) + text_of_bytes(id_.data(), id_.size()) + signature),
                       trusted_prefix, trusted, to_base64(global));
}

} // namespace amd_gpu
