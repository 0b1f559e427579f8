#include "environment/code_objects.hpp"

#include "environment/elf_file.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <zlib.h>
#include <zstd.h>

namespace amd_gpu {

namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";
constexpr std::string_view triple = "amdgcn-amd-amdhsa-";
constexpr std::string_view portable_name =
    "amdgcnspirv";                       // a target of its own in clang: hip-spirv64-amd-amdhsa--amdgcnspirv
constexpr uint16_t machine_amdgpu = 224; ///< EM_AMDGPU
constexpr uint64_t most_entries = 256;   // of one bundle; more is none
constexpr std::size_t most_parts = 100'000;
/// The table of a bundle's entries lies at its beginning: so much is decompressed of those that are larger than what we
/// would hold in memory, whose kernels are not looked for.
constexpr std::size_t table_bytes = 256UL * 1024;
constexpr std::size_t most_decompressed = 64UL << 20;
constexpr uint64_t alignment = 4096; // of bundles in a section

template<typename T>
void add(std::vector<T>& to, const T& one) {
    const auto place = std::lower_bound(to.begin(), to.end(), one);
    if (place == to.end() || *place != one)
        to.insert(place, one);
}

/// Whether a code object is known to hold no kernel: none of its symbols is a kernel's descriptor, NAME.kd (from
/// version 3 on).
bool is_hollow(std::string_view object) {
    const auto identity = read_elf_identity(object);
    if (!identity || identity->machine != machine_amdgpu || elf_sections(object, ".dynsym").empty())
        return false;
    return !elf_defines_symbol(object, ".kd");
}

/// A bundle's table: what it holds, and where it ends.
struct bundle_table {
    code_part part;
    uint64_t end = 0;
};

/// `bytes` begin with the bundle, and may be its beginning only: objects behind that are not looked at.
std::optional<bundle_table> read_table(std::string_view bytes) {
    const auto count = value_at<uint64_t>(bytes, bundle_magic.size());
    if (!bytes.starts_with(bundle_magic) || !count || *count > most_entries)
        return std::nullopt;
    bundle_table made;
    uint64_t at = bundle_magic.size() + sizeof(uint64_t);
    made.end = at;
    for (uint64_t i = 0; i < *count; ++i) {
        // offset and size of the object, length of its name, the name
        const auto offset = value_at<uint64_t>(bytes, at);
        const auto size = value_at<uint64_t>(bytes, at + 8);
        const auto length = value_at<uint64_t>(bytes, at + 16);
        const auto id = length ? part_of(bytes, at + 24, *length) : std::nullopt;
        if (!id || *offset > UINT64_MAX - *size)
            return std::nullopt;
        at += 24 + *length;
        made.end = std::max({made.end, at, *offset + *size});
        const auto object = part_of(bytes, *offset, *size);
        if (*size > 0)
            add_bundle_entry(*id, object && is_hollow(*object), made.part);
    }
    return made;
}

/// The header of a compressed bundle: magic, version and method (16 bits each), then sizes and a hash.
struct compressed_header {
    uint16_t method = 0;
    uint64_t header_bytes = 0;
    uint64_t total_bytes = 0;  ///< with the header; 0: version 1 does not say
    uint64_t bundle_bytes = 0; ///< decompressed
};

std::variant<compressed_header, std::string> read_compressed_header(std::string_view bytes) {
    const auto version = value_at<uint16_t>(bytes, 4);
    const auto method = value_at<uint16_t>(bytes, 6);
    const auto narrow = [&](uint64_t at) { return uint64_t{value_at<uint32_t>(bytes, at).value_or(0)}; };
    const auto wide = [&](uint64_t at) { return value_at<uint64_t>(bytes, at).value_or(0); };
    constexpr uint64_t longest_header = 32;
    if (!version || !method || bytes.size() < longest_header)
        return "a compressed bundle that is cut off";
    switch (*version) { // sizes, and a hash of 8 bytes
    case 1:
        return compressed_header{*method, 20, 0, narrow(8)};
    case 2:
        return compressed_header{*method, 24, narrow(8), narrow(12)};
    case 3:
        return compressed_header{*method, longest_header, wide(8), wide(16)};
    default:
        return fmt::format("a compressed bundle of version {}", *version);
    }
}

std::optional<std::string> beginning_by_zstd(std::string_view from, std::size_t most) {
    const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
    std::string made(most, '\0');
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{made.data(), made.size(), 0};
    while (stream && out.pos < out.size) {
        const std::size_t taken = in.pos;
        const std::size_t given = out.pos;
        const std::size_t left = ZSTD_decompressStream(stream.get(), &out, &in);
        if (ZSTD_isError(left) != 0U)
            return std::nullopt;
        if (left == 0 || (in.pos == taken && out.pos == given))
            break;
    }
    made.resize(out.pos);
    return made;
}

std::optional<std::string> beginning_by_zlib(std::string_view from, std::size_t most) {
    z_stream stream{};
    if (::inflateInit(&stream) != Z_OK)
        return std::nullopt;
    const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, ::inflateEnd);
    std::string made(most, '\0');
    // The library takes a pointer to data that it does not change.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
    stream.avail_in = static_cast<uInt>(std::min<std::size_t>(from.size(), UINT32_MAX));
    stream.next_out = reinterpret_cast<Bytef*>(made.data());
    stream.avail_out = static_cast<uInt>(made.size());
    const int how = ::inflate(&stream, Z_SYNC_FLUSH);
    if (how != Z_OK && how != Z_STREAM_END && how != Z_BUF_ERROR)
        return std::nullopt;
    made.resize(made.size() - stream.avail_out);
    return made;
}

void add_part(const code_part& part, embedded_code& to) {
    if (!part.empty() || !part.hollow.empty())
        to.parts.push_back(part);
}

/// Reads one compressed bundle. Gives where it ends; 0 when that is not known.
uint64_t read_compressed(std::string_view bytes, embedded_code& to) {
    const auto read = read_compressed_header(bytes);
    if (const auto* problem = std::get_if<std::string>(&read)) {
        to.problems.push_back(*problem);
        return 0;
    }
    const auto& header = std::get<compressed_header>(read);
    const uint64_t total = header.total_bytes == 0 ? bytes.size() : header.total_bytes;
    const auto content =
        total < header.header_bytes ? std::nullopt : part_of(bytes, header.header_bytes, total - header.header_bytes);
    if (!content) {
        to.problems.emplace_back("a compressed bundle that is cut off");
        return 0;
    }
    const std::size_t most =
        header.bundle_bytes > most_decompressed ? table_bytes : std::max<std::size_t>(header.bundle_bytes, table_bytes);
    // The numbers are those of llvm::compression::Format.
    const auto beginning = header.method == 0   ? beginning_by_zlib(*content, most)
                           : header.method == 1 ? beginning_by_zstd(*content, most)
                                                : std::nullopt;
    const auto table = beginning ? read_table(*beginning) : std::nullopt;
    if (!table)
        to.problems.push_back(header.method > 1 ? fmt::format("a bundle compressed by method {}", header.method)
                                                : "a compressed bundle that is damaged");
    else
        add_part(table->part, to);
    return header.total_bytes;
}

/// Bundles, one after another, each at a multiple of the alignment or right behind zeros.
void read_bundles(std::string_view bytes, embedded_code& to) {
    uint64_t at = 0;
    while (to.parts.size() < most_parts) {
        at = bytes.find_first_not_of('\0', at);
        if (at == std::string_view::npos)
            return;
        const std::string_view rest = bytes.substr(at);
        uint64_t length = 0;
        bool known = true;
        if (rest.starts_with(bundle_magic)) {
            const auto table = read_table(rest);
            if (!table || table->end > rest.size())
                to.problems.emplace_back("a bundle that is cut off or damaged");
            else
                length = table->end;
            if (table)
                add_part(table->part, to);
        } else if (rest.starts_with(compressed_magic)) {
            length = read_compressed(rest, to);
        } else {
            known = false;
        }
        if (length > 0) {
            at += length;
            continue;
        }
        if (!known)
            to.problems.emplace_back("GPU code of an unknown kind");
        // Where it ends is not known: on to the next place where a bundle may begin and one does. (The magic of a
        // compressed one may well occur within its data, but hardly there.)
        do
            at = (at / alignment + 1) * alignment;
        while (at < bytes.size() && !bytes.substr(at).starts_with(bundle_magic) &&
               !bytes.substr(at).starts_with(compressed_magic));
        if (at >= bytes.size())
            return;
    }
    to.problems.push_back(fmt::format("more than {} parts", most_parts));
}

feature_mode mode_of(uint32_t bits) {
    // 0 unsupported, 1 any, 2 off, 3 on
    return bits == 2 ? feature_mode::off : bits == 3 ? feature_mode::on : feature_mode::any;
}

/// One code object: an ELF file for amdgcn. Its flags say the target.
void read_code_object(std::string_view bytes, const elf_identity& identity, embedded_code& to) {
    constexpr uint32_t mach_mask = 0xff;
    constexpr uint8_t abi_amdgpu_hsa = 64;
    constexpr uint8_t version_3 = 1; // EI_ABIVERSION is the version of the code object less two
    if (identity.abi != abi_amdgpu_hsa || identity.abi_version < version_3) {
        to.problems.emplace_back("a code object of another kind than HSA's from version 3 on");
        return;
    }
    code_part part;
    const uint32_t mach = identity.flags & mach_mask;
    const processor* found = processor_of_mach(mach);
    if (found == nullptr) {
        part.unknown.push_back(fmt::format("processor {:#x}", mach));
    } else if (found->generic && identity.flags >> 24U == 0) {
        part.unknown.push_back(fmt::format("{} of version 0", found->name));
    } else {
        target_id target{std::string(found->name)};
        if (identity.abi_version == version_3) {
            // One bit each: on, or else off.
            if (found->has_xnack)
                target.xnack = (identity.flags & 0x100U) != 0 ? feature_mode::on : feature_mode::off;
            if (found->has_sramecc)
                target.sramecc = (identity.flags & 0x200U) != 0 ? feature_mode::on : feature_mode::off;
        } else {
            target.xnack = mode_of(identity.flags >> 8U & 3U);
            target.sramecc = mode_of(identity.flags >> 10U & 3U);
        }
        if (parse_target(target.text()))
            (is_hollow(bytes) ? part.hollow : part.targets).push_back(std::move(target));
        else // a mode of a feature that the processor does not have
            part.unknown.push_back(target.text());
    }
    to.parts.push_back(std::move(part));
}

} // namespace

void add_bundle_entry(std::string_view id, bool hollow, code_part& to) {
    if (id.ends_with(portable_name)) {
        to.portable = true;
        return;
    }
    const std::size_t found = id.find(triple);
    if (found == std::string_view::npos)
        return;
    // An environment stands before the target, empty or "unknown"; compilers before LLVM 12 left it out.
    std::string_view target = id.substr(found + triple.size());
    if (!target.starts_with("gfx"))
        target.remove_prefix(std::min(target.find('-'), target.size()));
    if (target.starts_with('-'))
        target.remove_prefix(1);
    const auto known = parse_target(target);
    if (known)
        add(hollow ? to.hollow : to.targets, *known);
    else
        add(to.unknown, quoted(target));
}

code_part embedded_code::all() const {
    std::set<target_id> targets;
    std::set<target_id> hollow;
    std::set<std::string> unknown;
    code_part made;
    for (const code_part& part : parts) {
        targets.insert(part.targets.begin(), part.targets.end());
        hollow.insert(part.hollow.begin(), part.hollow.end());
        unknown.insert(part.unknown.begin(), part.unknown.end());
        made.portable = made.portable || part.portable;
    }
    made.targets.assign(targets.begin(), targets.end());
    for (const target_id& one : hollow)
        if (!targets.contains(one))
            made.hollow.push_back(one);
    made.unknown.assign(unknown.begin(), unknown.end());
    return made;
}

embedded_code read_embedded_code(std::string_view bytes) {
    embedded_code made;
    const auto identity = read_elf_identity(bytes);
    if (identity && identity->machine == machine_amdgpu) {
        read_code_object(bytes, *identity, made);
        return made;
    }
    if (!identity) {
        if (bytes.starts_with(bundle_magic) || bytes.starts_with(compressed_magic))
            read_bundles(bytes, made);
        return made;
    }
    if (!elf_sections(bytes, ".rocm_kpack_ref").empty()) {
        made.problems.emplace_back("its GPU code lies in a .kpack archive, which cannot be read");
        return made;
    }
    for (const std::string_view section : elf_sections(bytes, ".hip_fatbin"))
        read_bundles(section, made);
    made.expected = elf_uses_symbol(bytes, "__hipRegisterFatBinary");
    return made;
}

} // namespace amd_gpu
