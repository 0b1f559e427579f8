// ELF files as the loader sees them: sections, and what the dynamic section asks for. Pure readers of bytes that never
// look past the end of what they are given; a file that is cut off or lies about its tables gives less, not nonsense.
// Formats: System V ABI, "Object Files"; GNU symbol versions: Linux Standard Base Core, "Symbol Versioning".
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// The part of some bytes that begins at `offset`; nothing when it does not lie within them.
std::optional<std::string_view> part_of(std::string_view bytes, uint64_t offset, uint64_t size);

/// A number, or a structure of numbers, as it lies in memory of this machine (little-endian, as all GPU nodes are).
template<typename T>
std::optional<T> value_at(std::string_view bytes, uint64_t offset) {
    const auto found = part_of(bytes, offset, sizeof(T));
    if (!found)
        return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof(T));
    return value;
}

/// The identification of a 64-bit little-endian ELF file.
struct elf_identity {
    uint16_t machine = 0;
    uint32_t flags = 0;
    uint8_t abi = 0;         ///< EI_OSABI
    uint8_t abi_version = 0; ///< EI_ABIVERSION
};
/// Nothing when the bytes are no such file.
std::optional<elf_identity> read_elf_identity(std::string_view bytes);

/// The contents of every section of that name. None when the file has no table of sections.
std::vector<std::string_view> elf_sections(std::string_view bytes, std::string_view name);

/// Whether the file uses a symbol that another library must have. Without a table of sections: no.
bool elf_uses_symbol(std::string_view bytes, std::string_view name);
/// Whether the file offers others a symbol whose name ends so. Without a table of sections: no.
bool elf_defines_symbol(std::string_view bytes, std::string_view end);

/// What a library or a program asks the loader for, and offers.
struct elf_dynamic {
    std::string soname;
    std::vector<std::string> needed;
    std::vector<std::string> run_paths;                           ///< DT_RPATH and DT_RUNPATH, split at ':'
    std::map<std::string, std::set<std::string>> needed_versions; ///< library -> "GLIBCXX_3.4.32", ...
    std::set<std::string> versions;                               ///< that it offers itself
};
/// Nothing when the bytes are no library or program with a dynamic section; a code object is none.
std::optional<elf_dynamic> read_elf_dynamic(std::string_view bytes);

} // namespace amd_gpu
