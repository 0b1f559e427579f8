// The environments of a site, environments.d/NAME.toml, and the variants of them that exist.
#pragma once

#include "environment/edits.hpp"
#include "target/match.hpp"

#include <map>
#include <string>
#include <vector>

namespace amd_gpu {

/// An environment as an administrator defined it.
struct environment {
    std::string name; ///< the file's name without .toml; what env=NAME says
    std::string description;
    std::string provider = "prefix";
    std::string path;               ///< prefix: a path with {target} in it, "/opt/envs/demo/{target}"
    std::vector<target_id> targets; ///< the targets to offer, sorted; empty: every known one that lies on disk
    std::vector<edit> edits;        ///< the site's own, applied after the variant's; values may hold "${prefix}"
    std::string file;               ///< where it was defined
};

/// An environment built for one set of targets, lying on this node.
struct variant {
    std::string environment;
    std::string provider;
    std::vector<target_id> targets;
    std::string path;

    bool operator==(const variant&) const = default;
};

/// Environment name -> definition.
using catalogue = std::map<std::string, environment>;

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

/// Chooses the variant of an environment for a set of devices. Usage errors, each one line that a user can act on: no
/// such environment (with the nearest name), no variant for these devices (with those that there are), no device known.
result<resolution> resolve(const catalogue& from, const std::string& name, const std::vector<target_id>& devices);

/// The edits that put a variant to use: from its directories (bin, lib, share/man, lib/pkgconfig, lib/cmake, ...), from
/// an activate.toml inside it, and from the definition, in this order. Errors (configuration): an activate.toml that is
/// wrong, such as one that names a variable which may not be edited.
result<std::vector<edit>> activation_edits(const variant& chosen, const environment& definition);

/// The variables that builds read (AMDGPU_TARGETS, GPU_TARGETS, PYTORCH_ROCM_ARCH, HCC_AMDGPU_TARGET) for these
/// devices: their processors without features, because code for any mode is what a build wants unless it says
/// otherwise. No device: none.
std::vector<edit> build_target_edits(const std::vector<target_id>& devices);

} // namespace amd_gpu
