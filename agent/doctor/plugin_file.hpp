// What a plugin file of Slurm says about itself. Pure: it reads bytes, loads nothing and runs nothing of the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace amd_gpu {

/// The number that the symbol plugin_version of a 64-bit ELF file holds: the Slurm release whose headers it was built
/// with, SLURM_VERSION_NUMBER (spank.h, SPANK_PLUGIN; slurm_version.h). Nothing when the bytes are no such file.
std::optional<uint32_t> plugin_version_in(std::string_view file);

/// "22.05" from 0x160508. Slurm loads a plugin of another micro release, but of no other release than this.
std::string release_text(uint32_t version);

} // namespace amd_gpu
