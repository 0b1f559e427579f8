// What the HIP runtime makes of a node: which library a process gets, what it lists, and which variables of the process
// change that. Pure.
#pragma once

#include "doctor/checks.hpp"

#include <cstdint>

namespace amd_gpu {

using environment_variables = std::map<std::string, std::string>;

/// A device that HIP lists.
struct hip_device {
    std::string bdf;    ///< "0000:c1:00.0"
    std::string target; ///< as the runtime takes it, overrides included; empty: not known
};

/// What HIP is to a process.
struct hip_view {
    std::string library;             ///< path; empty: none was found
    std::optional<uint32_t> version; ///< hipRuntimeGetVersion
    std::vector<hip_device> devices;
    std::string failure; ///< why it lists nothing, in one line; empty when it did list
};

/// Reads what `amd-gpu-probe devices` prints. Nothing on text that is not that, as when the program was stopped before
/// it found a library.
std::optional<hip_view> parse_hip_view(std::string_view output);

/// "5.2.21153" from 50221153: HIP_VERSION of hip_version.h.
std::string hip_version_text(uint32_t version);

/// Whether HIP starts and lists GPUs: in this process, and with none of its variables.
step check_hip(const std::optional<hip_view>& mine, const std::optional<hip_view>& plain);
/// Overrides of the processor, beside what the GPUs really are and what HIP takes them for.
std::vector<step> check_overrides(const environment_variables& variables, const node& here,
                                  const std::optional<hip_view>& mine);
/// The xnack mode in which processes run here, and whether HSA_XNACK does what it says. Nothing when no mode is known.
std::optional<step> check_xnack(const environment_variables& variables, const node& here);

/// A directory of LD_LIBRARY_PATH and the libraries of ROCm in it ("libamdhip64").
struct library_directory {
    std::string path; ///< without symbolic links
    std::vector<std::string> libraries;
};
/// Whether LD_LIBRARY_PATH leads to more than one ROCm. Nothing when it leads to none.
std::optional<step> check_library_path(const std::vector<library_directory>& directories);

} // namespace amd_gpu
