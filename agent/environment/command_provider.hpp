// The provider "command": a site's own program makes variants (a Spack view, a tree of modules) and says on its
// standard output, as one JSON object, what it would do or has made. What it says is data from outside: read strictly.
#pragma once

#include "environment/provider.hpp"

#include <memory>
#include <string_view>

namespace amd_gpu {

/// Reads the answer to the verb plan. Every member may be missing but "need". Errors (peer): no JSON object, a member
/// that is not known or not of its kind.
result<realise_plan> parse_command_plan(std::string_view text);

/// Reads the answer to the verb realise: where the variant lies, its targets and edits. `asked`: the targets it was to
/// be made for; empty: the program's own choice. Errors (peer): no JSON object, a member that is not known, that is
/// missing ("path", "targets") or not allowed (parse_record() says which), other targets than were asked for.
result<variant> parse_command_variant(std::string_view text, const std::vector<target_id>& asked);

/// What makes the variants of an environment of a site's program. The program runs as its user, from a clean
/// environment; when we are not root, as ourselves. Errors (configuration): no such user, or root.
result<std::unique_ptr<realiser>> command_realiser(const settings& site, const environment& of);

/// Tells the program that a variant is no longer used, so that it may remove the files. It may hear of the same one
/// twice. Errors: the program cannot be run, or failed.
status release_command_variant(const environment& of, const variant& what, deadline until);

} // namespace amd_gpu
