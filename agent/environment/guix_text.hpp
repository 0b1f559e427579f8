// What Guix reads and says, as pure text: the file that it evaluates, its plans, its failures, its profiles.
#pragma once

#include "environment/provider.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// The file for `guix build -f`: a profile of the packages with every one of them transformed for these processors
/// (none: left as they are) and tuned for a CPU (none: not). The transformation stands in the file because
/// `guix shell -m` and `guix package -m` ignore --amd-gpu in silence (Guix 1.5).
std::string guix_wrapper(const guix_source& from, const std::vector<std::string>& processors);

/// Why a channels file does not pin Guix; empty when each of its channels names a full commit, so that
/// `guix time-machine` finds it in its cache and fetches nothing.
std::string channels_mistake(std::string_view text);
/// The commits of such a file: name -> commit.
std::map<std::string, std::string> channel_commits(std::string_view text);

/// Reads the diagnostics of `guix build --dry-run`. Its exit status is 0 whatever it says.
realise_plan parse_guix_plan(std::string_view output, std::string_view diagnostics);

/// The targets in the lines "compiling PACKAGE for AMD GPU gfx90a" and "... for these AMD GPUs: gfx90a gfx942": the
/// only proof that a variant was made. Nothing when no package was compiled for any.
std::optional<std::vector<std::string>> compiled_for(std::string_view diagnostics);

/// A failure of Guix in words that a person can act on, by what it printed.
error guix_failure(std::string_view diagnostics);

/// What a profile's manifest (PROFILE/manifest) says.
struct guix_profile {
    std::vector<edit> edits;           ///< from its search paths, values "${prefix}/..."
    std::vector<std::string> amd_gpu;  ///< of the transformations of its entries, sorted, each once
    std::vector<std::string> packages; ///< "name@version"
};
/// Errors (configuration): no manifest, or of another version than 3 and 4.
result<guix_profile> parse_guix_profile(std::string_view manifest);

} // namespace amd_gpu
