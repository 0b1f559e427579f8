// A variant, an environment built for one set of targets, and its record: the immutable JSON text that whoever realised
// it hands to every node. A record is data from outside, even from the site's own index; reading one checks all of it.
#pragma once

#include "environment/edits.hpp"
#include "target/target.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Where the files of a variant lie.
enum class storage {
    prefix, ///< in a directory that every node has under the same path
    store,  ///< in a Guix store that every node has
    blob,   ///< in a squashfs image that a node fetches and mounts
};

struct variant {
    std::string environment; ///< a name of the catalogue; of a user's own: "sha256:" and 64 hexadecimal digits
    std::string provider;
    std::vector<target_id> targets; ///< sorted, each once
    std::string path;               ///< prefix and store: absolute
    storage kept = storage::prefix;
    std::string blob;           ///< SHA-256 of the image, 64 hexadecimal digits
    uint64_t blob_bytes = 0;    ///< size of the image
    std::string mount_point;    ///< of software that works at this path only; empty: anywhere
    std::string digest;         ///< SHA-256 of what it was made from: sources, pins, options; empty: not known
    bool substitutable = false; ///< built for its compiler's own choice of targets, so that servers have it
    std::vector<edit> edits;    ///< values may hold "${prefix}"
    bool suggests_edits = true; ///< its directories (bin, lib, ...) suggest further edits
    std::map<std::string, std::string> provenance; ///< "guix" -> "1.5.0", "channel guix" -> a commit, ...
    int64_t created = 0;                           ///< seconds since 1970

    bool operator==(const variant&) const = default;
    /// What tells it from every other, for the names of files: its blob, else the SHA-256 of its path and digest.
    [[nodiscard]] std::string key() const;
};

/// The schema that this build writes; a record of a newer one is refused in words.
constexpr int variant_schema = 1;
/// A record may be so long, in bytes.
constexpr std::size_t longest_record = 1UL << 20;

/// "prefix", "store", "blob".
std::string_view name_of(storage kept);

/// The record as JSON, keys sorted, with a final newline.
std::string to_record(const variant& from);
/// Reads a record. Errors (configuration): no JSON, a newer schema, a field that is missing, malformed or not allowed
/// (a path that is not absolute and plain, a variable that may not be edited, targets that are not canonical, ...).
result<variant> parse_record(std::string_view text);

/// "sha256:" and 64 lower-case hexadecimal digits: how a user's own environment is named.
bool is_digest_name(std::string_view name);
/// 64 lower-case hexadecimal digits.
bool is_sha256(std::string_view text);
/// Absolute, of at most PATH_MAX bytes, without "." and ".." parts, white space, control characters and ':'.
bool is_plain_path(std::string_view path);

} // namespace amd_gpu
