// Code objects: the bundle that clang makes of several (LLVM "clang-offload-bundler", uncompressed, magic
// __CLANG_OFFLOAD_BUNDLE__) and the marks in one ELF file for amdgcn (LLVM AMDGPUUsage, "ELF Code Object"). Pure
// readers of bytes that never look past the end of what they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu::probes {

/// One code object of a bundle.
struct bundle_entry {
    std::string target; ///< "gfx90a", with features if it has any
    std::span<const std::byte> object;
};

/// The entries for amdgcn; empty when BYTES is no bundle or a broken one.
std::vector<bundle_entry> read_bundle(std::span<const std::byte> bytes);

/// What an amdgcn code object says about itself.
struct code_object {
    std::uint32_t mach = 0; ///< EF_AMDGPU_MACH, the processor: 0x3f is gfx90a
    int abi = 0;            ///< EI_ABIVERSION: 2 is code object version 4
    std::vector<std::string> kernels;
};

/// Reads the header and the dynamic symbols NAME.kd of an ELF file; nothing when it is no amdgcn code object.
std::optional<code_object> read_code_object(std::span<const std::byte> bytes);

} // namespace amd_gpu::probes
