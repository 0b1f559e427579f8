// The index of a bundle tree: which images there are, for which environments and targets. Text from a web server that
// has been found signed by a trusted key; reading it checks all of it anyway.
#pragma once

#include "environment/catalogue.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

struct bundle_index {
    uint64_t version = 0; ///< only grows: an older index is one from the past
    int64_t expires = 0;  ///< seconds since 1970; afterwards it counts for nothing
    std::map<std::string, std::vector<variant_candidate>> environments;
};

constexpr int bundle_schema = 1;
constexpr std::size_t longest_index = 8UL << 20;

/// Reads index.json. A variant that is wrong is a candidate that cannot be used. Errors (peer): no JSON, a newer
/// schema, a field that is missing or malformed, a name that no environment can have.
result<bundle_index> parse_bundle_index(std::string_view text);
/// The same as JSON, keys sorted. Variants that cannot be used are left out.
std::string to_json(const bundle_index& from);

/// "2027-01-31T12:00:00Z" of seconds since 1970, and back. Nothing on anything else.
std::string utc_text(int64_t seconds);
std::optional<int64_t> parse_utc(std::string_view text);

} // namespace amd_gpu
