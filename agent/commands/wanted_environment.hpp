// The environment that a command line names: one of the site's, or with a slash, a manifest file of whoever asks.
#pragma once

#include "environment/provider.hpp"

namespace amd_gpu {

/// `channels`: for a manifest file, the channels.scm that pins Guix; may be empty. Errors (usage): no such environment,
/// a file that cannot be read or is longer than 1 MiB.
result<environment> wanted_environment(const settings& site, const std::string& text, const std::string& channels);

/// Its variants: of the site's from its provider, of one's own from one's own index.
result<std::vector<variant_candidate>> wanted_variants(const settings& site, const environment& of, deadline until);

} // namespace amd_gpu
