// Which targets a file holds GPU code for, whatever its name says. Pure readers of bytes.
// Sources: LLVM, "Clang Offload Bundler" and clang/lib/Driver/OffloadBundler.cpp (bundles, compressed ones of versions
// 1 to 3); LLVM AMDGPUUsage, "ELF Code Object" (marks of a code object); ROCm's rocm-kpack (code that lies apart).
#pragma once

#include "target/target.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// One part of a file: what was compiled together, for one or more targets. A large library is made of hundreds.
struct code_part {
    std::vector<target_id> targets;   ///< sorted, each once
    std::vector<target_id> hollow;    ///< there is a code object for these, but not one kernel in it
    std::vector<std::string> unknown; ///< names of targets that this program does not know, sorted
    bool portable = false;            ///< also as SPIR-V, which the runtime compiles for any GPU

    bool operator==(const code_part&) const = default;
    /// Nothing that could run. The compiler gives each source its code objects, also those that have no kernels.
    [[nodiscard]] bool empty() const { return targets.empty() && unknown.empty() && !portable; }
};

/// The GPU code of one file.
struct embedded_code {
    std::vector<code_part> parts;      ///< those that hold code objects
    std::vector<std::string> problems; ///< what could not be read, in words: there may be more code than `parts` says
    bool expected = false;             ///< the file is made to bring GPU code: it registers some with HIP

    /// Over all parts; hollow is what is so in every part.
    [[nodiscard]] code_part all() const;
};

/// The GPU code in a file of any kind: a library or program (sections .hip_fatbin), a code object, a bundle, a
/// compressed bundle. Nothing of it: no parts.
embedded_code read_embedded_code(std::string_view bytes);

/// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-", the name of an entry of a bundle, added to what a part holds. Names of the
/// host and of other machines add nothing. `hollow`: its code object is known to hold no kernel.
void add_bundle_entry(std::string_view id, bool hollow, code_part& to);

} // namespace amd_gpu
