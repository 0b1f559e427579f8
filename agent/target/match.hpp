// Which code fits which device: the rules of the HSA loader (ROCr, Isa::IsCompatible) and of clang's offload bundler.
// Pure. There is no ordering between processors, no prefix match and no family fallback.
#pragma once

#include "target/target.hpp"

#include <vector>

namespace amd_gpu {

/// How well code built for `built` fits `device`. Higher is better; none means that it does not run there.
enum class fit {
    none = 0,
    generic = 1,  ///< the code is generic and covers the device's processor; needs a runtime that knows generic code
    any_mode = 2, ///< same processor, built for either mode of the features that the device has
    exact = 3,    ///< same processor, and built for the device's very modes (or there are no modes to choose from)
};

/// "none", "generic", "any mode", "exact".
std::string_view name_of(fit how);

/// The answer for one built target and one device, with the reason in words when it does not fit
/// ("processor differs", "device has xnack-", "the device's xnack mode is not known").
struct target_match {
    fit how = fit::none;
    std::string reason;
};

/// Compares one built target with one device. A device's `any` is "not known", or no such feature: only code built for
/// any mode fits it. Code objects of a generic target are taken to be of version 1 or later, the only ones that exist
/// (LLVM AMDGPUUsage, Generic Processor Versioning).
target_match match_target(const target_id& built, const target_id& device);

/// A candidate that was not chosen, and why.
struct rejected_candidate {
    std::size_t candidate = 0; ///< index into the candidates
    std::string reason;
};

/// A choice among candidates.
struct best_match {
    std::optional<std::size_t> chosen;        ///< index into the candidates; nothing when none fits every device
    fit how = fit::none;                      ///< the worst fit over the devices
    std::vector<rejected_candidate> rejected; ///< every other candidate, in their order
};

/// Chooses the candidate that fits every device best: exact with features, then exact for any mode, then generic; among
/// equals the one built for fewer targets, then the first. No devices, or no candidates, choose nothing.
best_match choose(const std::vector<std::vector<target_id>>& candidates, const std::vector<target_id>& devices);

} // namespace amd_gpu
