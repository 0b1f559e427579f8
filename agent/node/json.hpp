// A node as JSON: what `discover --json` prints and what node.json holds, in one place so that the two cannot differ.
// Names and their order are a public format (see amd-gpu-agent(8)); an unknown fact is null, never left out.
#pragma once

#include "node/node.hpp"
#include "result.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace amd_gpu {

/// The number of the format; it grows when a name changes its meaning, not when one is added.
inline constexpr int node_schema = 1;

/// The node as a JSON object. `with_sources` adds to every GCD where each of its facts came from.
nlohmann::ordered_json json_of(const node& what, bool with_sources = false);

/// The same as indented text that ends with a newline. Bytes that are not UTF-8 (a product name may hold any) are
/// replaced, so that every reader can parse it.
std::string json_text(const node& what, bool with_sources = false);

/// The node that such a text describes, whoever wrote it. A missing name is an unknown fact. Error (peer): it is no
/// such text, or one of another schema, and what is wrong with it.
result<node> node_from_json(std::string_view text);

} // namespace amd_gpu
