// Target IDs of LLVM's AMDGPU backend: parsing, printing, comparing. Pure: no I/O, nothing but the standard library, so
// that the plugin and the agent read every name in the same way.
// Grammar and feature names: LLVM, "User Guide for AMDGPU Backend", Target ID.
#pragma once

#include "result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace amd_gpu {

/// A target feature as a code object states it or as a device has it.
enum class feature_mode {
    any, ///< built: runs in either mode. Device: not known, or the processor has no such feature
    off,
    on,
};

/// A processor with the modes of its two features: "gfx90a:sramecc+:xnack-".
struct target_id {
    std::string processor; ///< the canonical name: "gfx803", never "polaris10"
    feature_mode sramecc = feature_mode::any;
    feature_mode xnack = feature_mode::any;

    auto operator<=>(const target_id&) const = default;

    /// Canonical text: processor, then features in alphabetical order.
    [[nodiscard]] std::string text() const;
    /// The same name for use in a file or directory name: no ':' and no '+' ("gfx90a-sramecc_on-xnack_off").
    [[nodiscard]] std::string path_text() const;
};

/// What is wrong with a text that should be a target ID.
struct target_mistake {
    std::size_t offset = 0; ///< where in the text, in bytes from 0
    std::string what;       ///< in words, without the place; never longer than a line
};

/// Reads a target ID as a person types it. The processor must be a known one (an old product name becomes its gfx name)
/// and may carry only features that it has, each at most once, in any order.
std::variant<target_id, target_mistake> read_target(std::string_view text);

/// As read_target. A mistake is a usage error that names the place (1-based column, where it is not the whole name)
/// and, where one is near, the name that was meant.
result<target_id> parse_target(std::string_view text);

/// Decodes KFD's gfx_target_version, which is major*10000 + minor*100 + step; a name shows minor and step in
/// hexadecimal: 90010 is gfx90a (Linux, drivers/gpu/drm/amd/amdkfd/kfd_device.c; ROCt, topology.c). The processor need
/// not be in our table: what the kernel says is a fact. Zero (a CPU) and nonsense give nothing.
std::optional<std::string> processor_from_kfd(uint32_t gfx_target_version);

// ---- known processors (known_processors.cpp) ----

/// One processor of LLVM's table.
struct processor {
    std::string_view name;
    std::string_view canonical; ///< the gfx name an old product name stands for; equal to name otherwise
    bool has_sramecc = false;   ///< may be said in a target ID; likewise has_xnack
    bool has_xnack = false;
    bool generic = false; ///< "gfx9-4-generic": code that runs on several processors
    uint8_t mach = 0;     ///< EF_AMDGPU_MACH of its code objects; 0: has none, or an old name
};

/// All of them, sorted by name. The table is constant data: nothing runs and nothing is allocated when it is loaded.
std::span<const processor> known_processors();
/// The entry of that exact name, or null.
const processor* find_processor(std::string_view name);
/// The processor whose code objects bear this number (EF_AMDGPU_MACH), or null.
const processor* processor_of_mach(uint32_t mach);
/// The known name nearest to a misspelt one; nothing when none is near.
std::optional<std::string_view> nearest_processor(std::string_view name);
/// The processors that a generic target covers; empty when the name is no known generic target.
std::span<const std::string_view> covered_by(std::string_view generic);
/// The processor inside a product of AMD's Instinct line, in any case ("MI250X" is gfx90a); nothing when it is no such
/// name. For advice only: a product name is not a target.
std::optional<std::string_view> processor_of_product(std::string_view product);

} // namespace amd_gpu
