// The provider "guix": variants that GNU Guix makes, in a store that every node has. Only realising runs Guix; nodes
// read records.
#pragma once

#include "environment/provider.hpp"

#include <memory>

namespace amd_gpu {

/// What makes the variants of an environment of Guix; `site` must outlive it. Errors (configuration): tune = "native",
/// which would be the CPU of whichever machine realises.
result<std::unique_ptr<realiser>> guix_realiser(const settings& site, const environment& of);

/// Why Guix cannot make a variant for exactly these targets; empty when it can. It knows processors only, and what it
/// builds runs in every mode of xnack and sramecc.
std::string guix_targets_mistake(const std::vector<target_id>& targets);

/// What Guix builds for when it is asked for nothing: %default-amd-gpu-targets of (guix amd-gpu), of 2026.
std::vector<target_id> guix_default_targets();

/// The edits whose directories or files lie in the profile, as Guix itself leaves out those that do not.
std::vector<edit> edits_within(const std::vector<edit>& edits, const std::string& profile);

} // namespace amd_gpu
