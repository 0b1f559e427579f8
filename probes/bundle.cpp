// Reading bundles and code objects.
#include "bundle.hpp"

#include <cstring>
#include <elf.h>

namespace amd_gpu::probes {
namespace {

constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint16_t machine_amdgpu = 224; ///< EM_AMDGPU
constexpr unsigned char os_amdgpu_hsa = 64;   ///< ELFOSABI_AMDGPU_HSA
constexpr std::uint32_t mach_mask = 0xff;     ///< EF_AMDGPU_MACH
constexpr std::uint64_t most_entries = 256;   ///< more is no bundle of ours

std::optional<std::span<const std::byte>> part(std::span<const std::byte> bytes, std::uint64_t offset,
                                               std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset)
        return std::nullopt;
    return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

template<typename T>
std::optional<T> read(std::span<const std::byte> bytes, std::uint64_t offset) {
    const auto found = part(bytes, offset, sizeof(T));
    if (!found)
        return std::nullopt;
    T value;
    std::memcpy(&value, found->data(), sizeof(T));
    return value;
}

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "hipv4-amdgcn-amd-amdhsa--gfx90a" -> "gfx90a"; empty for a host's entry.
std::string target_in(std::string_view id) {
    const std::size_t triple = id.find("amdgcn-amd-amdhsa");
    const std::size_t target = id.find("gfx", triple == std::string_view::npos ? id.size() : triple);
    return target == std::string_view::npos ? "" : std::string(id.substr(target));
}

} // namespace

std::vector<bundle_entry> read_bundle(std::span<const std::byte> bytes) {
    std::vector<bundle_entry> entries;
    const auto count = read<std::uint64_t>(bytes, magic.size());
    if (!as_text(bytes).starts_with(magic) || !count || *count > most_entries)
        return entries;
    std::uint64_t at = magic.size() + sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < *count; ++i) {
        // offset and size of the object, length of the id, the id
        const auto offset = read<std::uint64_t>(bytes, at);
        const auto size = read<std::uint64_t>(bytes, at + 8);
        const auto length = read<std::uint64_t>(bytes, at + 16);
        if (!offset || !size || !length)
            return {};
        const auto id = part(bytes, at + 24, *length);
        const auto object = part(bytes, *offset, *size);
        if (!id || !object)
            return {};
        if (std::string target = target_in(as_text(*id)); !target.empty())
            entries.push_back({std::move(target), *object});
        at += 24 + *length;
    }
    return entries;
}

std::optional<code_object> read_code_object(std::span<const std::byte> bytes) {
    const auto header = read<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_OSABI] != os_amdgpu_hsa || header->e_machine != machine_amdgpu)
        return std::nullopt;
    code_object found;
    found.mach = header->e_flags & mach_mask;
    found.abi = header->e_ident[EI_ABIVERSION];
    const auto section_at = [&](std::uint64_t index) {
        return index < header->e_shnum ? read<Elf64_Shdr>(bytes, header->e_shoff + index * header->e_shentsize)
                                       : std::nullopt;
    };
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto symbols = section_at(i);
        if (!symbols || symbols->sh_type != SHT_DYNSYM)
            continue;
        const auto strings = section_at(symbols->sh_link);
        const auto names = strings ? part(bytes, strings->sh_offset, strings->sh_size) : std::nullopt;
        const auto table = part(bytes, symbols->sh_offset, symbols->sh_size);
        if (!names || !table)
            return std::nullopt;
        for (std::uint64_t s = 0; s + sizeof(Elf64_Sym) <= table->size(); s += sizeof(Elf64_Sym)) {
            const auto symbol = read<Elf64_Sym>(*table, s);
            const std::string_view text = as_text(*names);
            if (!symbol || symbol->st_name >= text.size())
                continue;
            const std::string_view name =
                text.substr(symbol->st_name, text.find('\0', symbol->st_name) - symbol->st_name);
            if (name.ends_with(".kd"))
                found.kernels.emplace_back(name.substr(0, name.size() - 3));
        }
    }
    return found;
}

} // namespace amd_gpu::probes
