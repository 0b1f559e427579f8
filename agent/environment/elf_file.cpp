#include "environment/elf_file.hpp"

#include "system/files.hpp"

#include <elf.h>
#include <functional>

namespace amd_gpu {

namespace {

constexpr std::size_t most_entries = 1UL << 20; // of one table; more is nonsense

/// The zero-terminated text at an offset of a table of texts; empty when there is none.
std::string_view text_at(std::string_view table, uint64_t offset) {
    if (offset >= table.size())
        return {};
    const std::string_view rest = table.substr(offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

/// Where the loader would put things, and where they are in the file.
class segments {
  public:
    explicit segments(std::string_view bytes)
        : bytes_(bytes) {
        const auto header = value_at<Elf64_Ehdr>(bytes, 0);
        for (uint64_t i = 0; header && i < header->e_phnum; ++i)
            if (const auto one = value_at<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr)))
                all_.push_back(*one);
    }

    [[nodiscard]] std::string_view dynamic() const {
        for (const Elf64_Phdr& one : all_)
            if (one.p_type == PT_DYNAMIC)
                return part_of(bytes_, one.p_offset, one.p_filesz).value_or("");
        return {};
    }
    /// From an address to the end of its segment; empty when no segment holds it.
    [[nodiscard]] std::string_view at(uint64_t address) const {
        for (const Elf64_Phdr& one : all_)
            if (one.p_type == PT_LOAD && address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz)
                if (const auto content = part_of(bytes_, one.p_offset, one.p_filesz))
                    return content->substr(address - one.p_vaddr);
        return {};
    }

  private:
    std::string_view bytes_;
    std::vector<Elf64_Phdr> all_;
};

void read_needed_versions(std::string_view table, uint64_t count, std::string_view texts, elf_dynamic& to) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < count && i < most_entries; ++i) {
        const auto file = value_at<Elf64_Verneed>(table, at);
        if (!file)
            return;
        std::set<std::string>& versions = to.needed_versions[std::string(text_at(texts, file->vn_file))];
        uint64_t version_at = at + file->vn_aux;
        for (unsigned j = 0; j < file->vn_cnt; ++j) {
            const auto version = value_at<Elf64_Vernaux>(table, version_at);
            if (!version)
                return;
            if ((version->vna_flags & VER_FLG_WEAK) == 0)
                versions.emplace(text_at(texts, version->vna_name));
            if (version->vna_next == 0)
                break;
            version_at += version->vna_next;
        }
        if (file->vn_next == 0)
            return;
        at += file->vn_next;
    }
}

void read_own_versions(std::string_view table, uint64_t count, std::string_view texts, elf_dynamic& to) {
    uint64_t at = 0;
    for (uint64_t i = 0; i < count && i < most_entries; ++i) {
        const auto one = value_at<Elf64_Verdef>(table, at);
        if (!one)
            return;
        // The first one names the library itself.
        if (const auto name = value_at<Elf64_Verdaux>(table, at + one->vd_aux);
            name && (one->vd_flags & VER_FLG_BASE) == 0)
            to.versions.emplace(text_at(texts, name->vda_name));
        if (one->vd_next == 0)
            return;
        at += one->vd_next;
    }
}

/// Whether any dynamic symbol is as wanted.
bool any_symbol(std::string_view bytes, const std::function<bool(const Elf64_Sym&, std::string_view)>& wanted) {
    const auto symbols = elf_sections(bytes, ".dynsym");
    const auto texts = elf_sections(bytes, ".dynstr");
    if (symbols.empty() || texts.empty())
        return false;
    for (uint64_t at = 0; const auto one = value_at<Elf64_Sym>(symbols[0], at); at += sizeof(Elf64_Sym))
        if (wanted(*one, text_at(texts[0], one->st_name)))
            return true;
    return false;
}

} // namespace

std::optional<std::string_view> part_of(std::string_view bytes, uint64_t offset, uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset)
        return std::nullopt;
    return bytes.substr(offset, size);
}

std::optional<elf_identity> read_elf_identity(std::string_view bytes) {
    const auto header = value_at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB)
        return std::nullopt;
    return elf_identity{header->e_machine, header->e_flags, header->e_ident[EI_OSABI], header->e_ident[EI_ABIVERSION]};
}

std::vector<std::string_view> elf_sections(std::string_view bytes, std::string_view name) {
    std::vector<std::string_view> found;
    if (!read_elf_identity(bytes))
        return found;
    const auto header = value_at<Elf64_Ehdr>(bytes, 0);
    const auto section = [&](uint64_t index) {
        return value_at<Elf64_Shdr>(bytes, header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto names = header->e_shstrndx < header->e_shnum ? section(header->e_shstrndx) : std::nullopt;
    const auto texts = names ? part_of(bytes, names->sh_offset, names->sh_size) : std::nullopt;
    for (uint64_t i = 0; texts && i < header->e_shnum; ++i) {
        const auto one = section(i);
        if (!one || one->sh_type == SHT_NOBITS || one->sh_type == SHT_NULL || text_at(*texts, one->sh_name) != name)
            continue;
        if (const auto content = part_of(bytes, one->sh_offset, one->sh_size))
            found.push_back(*content);
    }
    return found;
}

bool elf_uses_symbol(std::string_view bytes, std::string_view name) {
    return any_symbol(bytes, [&](const Elf64_Sym& symbol, std::string_view text) {
        return symbol.st_shndx == SHN_UNDEF && text == name;
    });
}

bool elf_defines_symbol(std::string_view bytes, std::string_view end) {
    return any_symbol(bytes, [&](const Elf64_Sym& symbol, std::string_view text) {
        return symbol.st_shndx != SHN_UNDEF && text.ends_with(end);
    });
}

std::optional<elf_dynamic> read_elf_dynamic(std::string_view bytes) {
    const auto identity = read_elf_identity(bytes);
    if (!identity || identity->machine == EM_AMDGPU) // whose loader is HSA's
        return std::nullopt;
    const segments loaded(bytes);
    const std::string_view entries = loaded.dynamic();
    std::map<int64_t, uint64_t> values; // of tags that appear once
    std::vector<std::pair<int64_t, uint64_t>> texts_at;
    for (uint64_t at = 0; at / sizeof(Elf64_Dyn) < most_entries; at += sizeof(Elf64_Dyn)) {
        const auto one = value_at<Elf64_Dyn>(entries, at);
        if (!one || one->d_tag == DT_NULL)
            break;
        if (one->d_tag == DT_NEEDED || one->d_tag == DT_SONAME || one->d_tag == DT_RPATH || one->d_tag == DT_RUNPATH)
            texts_at.emplace_back(one->d_tag, one->d_un.d_val);
        else
            values[one->d_tag] = one->d_un.d_val;
    }
    if (values.empty())
        return std::nullopt;
    const std::string_view texts = part_of(loaded.at(values[DT_STRTAB]), 0, values[DT_STRSZ]).value_or("");
    elf_dynamic made;
    for (const auto& [tag, offset] : texts_at) {
        const std::string text(text_at(texts, offset));
        if (tag == DT_NEEDED)
            made.needed.push_back(text);
        else if (tag == DT_SONAME)
            made.soname = text;
        else
            for (std::string& path : split(text, ':'))
                made.run_paths.push_back(std::move(path));
    }
    read_needed_versions(loaded.at(values[DT_VERNEED]), values[DT_VERNEEDNUM], texts, made);
    read_own_versions(loaded.at(values[DT_VERDEF]), values[DT_VERDEFNUM], texts, made);
    return made;
}

} // namespace amd_gpu
