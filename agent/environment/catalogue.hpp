// The environments of a site, environments.d/NAME.toml, and the variants of them that exist.
#pragma once

#include "environment/sources.hpp"
#include "environment/variant.hpp"
#include "target/match.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Which variant a job gets when both fit: one built for its very devices, or one built for its compiler's own choice
/// of targets, which servers have and nobody needs to build.
enum class preference { exact, substitutable };

/// An environment as an administrator defined it.
struct environment {
    std::string name; ///< the file's name without .toml; what env=NAME says
    std::string description;
    std::string provider = "prefix";
    std::string path;               ///< prefix: a path with {target} in it, "/opt/envs/demo/{target}"
    std::vector<target_id> targets; ///< the targets to offer, sorted; empty: every known one that lies on disk
    preference prefer = preference::substitutable;
    guix_source guix;
    bundle_source bundle;
    command_source program;
    std::vector<edit> edits; ///< the site's own, applied after the variant's; values may hold "${prefix}"
    std::string file;        ///< where it was defined
};

/// A variant that was looked for, and why it cannot be used; empty when it can.
struct variant_candidate {
    variant found;
    std::string unusable;
};

/// Environment name -> definition.
using catalogue = std::map<std::string, environment>;

/// What the option env=NAME can say, and a definition's file be named: letters, digits, "._+-", no dot first.
bool is_environment_name(std::string_view name);

/// The definitions in a directory: paths of its *.toml, sorted. No directory: none. Errors (configuration): unreadable.
result<std::vector<std::string>> environment_files(const std::string& directory);
/// Reads one definition, strictly. Errors (configuration): all that is wrong with it, one "FILE:LINE: ..." a line.
result<environment> load_environment(const std::string& file);
/// Reads every definition of a directory. No directory: an empty catalogue. Errors: as above, of all files.
result<catalogue> load_catalogue(const std::string& directory);

/// Which variant a set of devices gets, and why not the others.
struct resolution {
    variant chosen;
    fit how = fit::none;
    std::vector<std::string> rejected; ///< "gfx942 (processor differs)"
    /// "gfx90a:sramecc+ <- variant gfx90a; rejected: gfx942 (processor differs)"
    std::string explanation;
};

/// The definition of that name. Error (usage), one line: there is none, with the nearest name.
result<environment> find_environment(const catalogue& from, const std::string& name);
/// Chooses among the variants of an environment for a set of devices. Usage errors, each one line that a user can act
/// on: no variant for these devices (with those that there are), no device known.
result<resolution> resolve(const environment& of, const std::vector<variant_candidate>& variants,
                           const std::vector<target_id>& devices);

/// The edits that put a variant to use, once its files are local (its path says where): from its directories (bin, lib,
/// share/man, lib/pkgconfig, lib/cmake, ...) unless its record says otherwise, from its record, from an activate.toml
/// inside it, and from the definition, in this order. Errors (configuration): an activate.toml that is
/// wrong, such as one that names a variable which may not be edited.
result<std::vector<edit>> activation_edits(const variant& chosen, const environment& definition);

/// The variables that builds read (AMDGPU_TARGETS, GPU_TARGETS, PYTORCH_ROCM_ARCH, HCC_AMDGPU_TARGET) for these
/// devices: their processors without features, because code for any mode is what a build wants unless it says
/// otherwise. No device: none.
std::vector<edit> build_target_edits(const std::vector<target_id>& devices);

} // namespace amd_gpu
