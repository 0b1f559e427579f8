#include "doctor/plugin_file.hpp"

#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

/// A structure at a place of the file; nothing beyond its end.
template<typename T>
std::optional<T> at(std::string_view file, uint64_t offset) {
    if (offset > file.size() || file.size() - offset < sizeof(T))
        return std::nullopt;
    T value;
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
}

std::optional<Elf64_Shdr> section(std::string_view file, const Elf64_Ehdr& header, uint64_t number) {
    if (number >= header.e_shnum || header.e_shoff > file.size())
        return std::nullopt;
    return at<Elf64_Shdr>(file, header.e_shoff + number * sizeof(Elf64_Shdr));
}

bool is_named(std::string_view file, const Elf64_Shdr& names, uint32_t offset, std::string_view name) {
    if (offset > names.sh_size || names.sh_offset > file.size())
        return false;
    const auto place = names.sh_offset + offset;
    return place <= file.size() && file.substr(place, name.size()) == name &&
           at<char>(file, place + name.size()) == '\0';
}

} // namespace

std::optional<uint32_t> plugin_version_in(std::string_view file) {
    const auto header = at<Elf64_Ehdr>(file, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_shentsize != sizeof(Elf64_Shdr))
        return std::nullopt;
    for (uint64_t number = 0; number < header->e_shnum; ++number) {
        const auto table = section(file, *header, number);
        if (!table || table->sh_type != SHT_DYNSYM)
            continue;
        const auto names = section(file, *header, table->sh_link);
        for (uint64_t offset = 0; names && offset < table->sh_size; offset += sizeof(Elf64_Sym)) {
            const auto symbol = at<Elf64_Sym>(file, table->sh_offset + offset);
            if (!symbol)
                return std::nullopt;
            if (!is_named(file, *names, symbol->st_name, "plugin_version"))
                continue;
            const auto holder = section(file, *header, symbol->st_shndx);
            if (!holder || holder->sh_type == SHT_NOBITS || symbol->st_value < holder->sh_addr)
                return std::nullopt;
            return at<uint32_t>(file, holder->sh_offset + (symbol->st_value - holder->sh_addr));
        }
    }
    return std::nullopt;
}

std::string release_text(uint32_t version) {
    return fmt::format("{}.{:02}", version >> 16U, version >> 8U & 0xffU);
}

} // namespace amd_gpu
