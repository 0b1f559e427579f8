// LLVM's table of AMDGPU processors as constant data: every name up to LLVM 22 (gfx940 and gfx941 left it with LLVM 21,
// but code and environments for them exist), which of them take sramecc and xnack in a target ID, and what generic
// targets cover. Source: LLVM AMDGPUUsage, tables "AMDGPU Processors" and "AMDGPU Generic Processors"; features as
// clang 22 accepts them. The number that stands for each in a code object: EF_AMDGPU_MACH_AMDGCN_* of
// llvm/BinaryFormat/ELF.h, LLVM 19 to 22.
#include "target/spelling.hpp"
#include "target/target.hpp"

#include <algorithm>
#include <array>

namespace amd_gpu {
namespace {

enum class features { none, xnack, sramecc_xnack };

constexpr processor gpu(std::string_view name, uint8_t mach, features has = features::none) {
    return {name, name, has == features::sramecc_xnack, has != features::none, false, mach};
}
constexpr processor generic(std::string_view name, uint8_t mach, features has = features::none) {
    return {name, name, has == features::sramecc_xnack, has != features::none, true, mach};
}
constexpr processor old_name(std::string_view name, std::string_view stands_for) {
    return {name, stands_for};
}

constexpr auto by_family = std::to_array<processor>({
    // Names for the compiler's own tests: no device is one.
    gpu("generic", 0),
    gpu("generic-hsa", 0),
    // GFX6, Southern Islands
    gpu("gfx600", 0x20),
    gpu("gfx601", 0x21),
    gpu("gfx602", 0x3a),
    old_name("tahiti", "gfx600"),
    old_name("pitcairn", "gfx601"),
    old_name("verde", "gfx601"),
    old_name("hainan", "gfx602"),
    old_name("oland", "gfx602"),
    // GFX7, Sea Islands
    gpu("gfx700", 0x22),
    gpu("gfx701", 0x23),
    gpu("gfx702", 0x24),
    gpu("gfx703", 0x25),
    gpu("gfx704", 0x26),
    gpu("gfx705", 0x3b),
    old_name("kaveri", "gfx700"),
    old_name("hawaii", "gfx701"),
    old_name("kabini", "gfx703"),
    old_name("mullins", "gfx703"),
    old_name("bonaire", "gfx704"),
    // GFX8, Volcanic Islands
    gpu("gfx801", 0x28, features::xnack),
    gpu("gfx802", 0x29),
    gpu("gfx803", 0x2a),
    gpu("gfx805", 0x3c),
    gpu("gfx810", 0x2b, features::xnack),
    old_name("carrizo", "gfx801"),
    old_name("iceland", "gfx802"),
    old_name("tonga", "gfx802"),
    old_name("fiji", "gfx803"),
    old_name("polaris10", "gfx803"),
    old_name("polaris11", "gfx803"),
    old_name("tongapro", "gfx805"),
    old_name("stoney", "gfx810"),
    // GFX9, Vega and CDNA
    gpu("gfx900", 0x2c, features::xnack),
    gpu("gfx902", 0x2d, features::xnack),
    gpu("gfx904", 0x2e, features::xnack),
    gpu("gfx906", 0x2f, features::sramecc_xnack),
    gpu("gfx908", 0x30, features::sramecc_xnack),
    gpu("gfx909", 0x31, features::xnack),
    gpu("gfx90a", 0x3f, features::sramecc_xnack),
    gpu("gfx90c", 0x32, features::xnack),
    gpu("gfx940", 0x40, features::sramecc_xnack),
    gpu("gfx941", 0x4b, features::sramecc_xnack),
    gpu("gfx942", 0x4c, features::sramecc_xnack),
    gpu("gfx950", 0x4f, features::sramecc_xnack),
    generic("gfx9-generic", 0x51, features::xnack),
    generic("gfx9-4-generic", 0x5f, features::sramecc_xnack),
    // GFX10, RDNA 1 and 2
    gpu("gfx1010", 0x33, features::xnack),
    gpu("gfx1011", 0x34, features::xnack),
    gpu("gfx1012", 0x35, features::xnack),
    gpu("gfx1013", 0x42, features::xnack),
    gpu("gfx1030", 0x36),
    gpu("gfx1031", 0x37),
    gpu("gfx1032", 0x38),
    gpu("gfx1033", 0x39),
    gpu("gfx1034", 0x3e),
    gpu("gfx1035", 0x3d),
    gpu("gfx1036", 0x45),
    generic("gfx10-1-generic", 0x52, features::xnack),
    generic("gfx10-3-generic", 0x53),
    // GFX11, RDNA 3
    gpu("gfx1100", 0x41),
    gpu("gfx1101", 0x46),
    gpu("gfx1102", 0x47),
    gpu("gfx1103", 0x44),
    gpu("gfx1150", 0x43),
    gpu("gfx1151", 0x4a),
    gpu("gfx1152", 0x55),
    gpu("gfx1153", 0x58),
    generic("gfx11-generic", 0x54),
    // GFX12, RDNA 4; xnack is always on in gfx125x, so that a target ID cannot name it
    gpu("gfx1200", 0x48),
    gpu("gfx1201", 0x4e),
    gpu("gfx1250", 0x49),
    gpu("gfx1251", 0x5a),
    generic("gfx12-generic", 0x59),
});

// Sorted by name, and every old name with the features of what it stands for.
constexpr auto sorted = [] {
    auto all = by_family;
    std::ranges::sort(all, {}, &processor::name);
    for (processor& one : all) {
        const auto* real = std::ranges::lower_bound(all, one.canonical, {}, &processor::name);
        one.has_sramecc = real->has_sramecc;
        one.has_xnack = real->has_xnack;
    }
    return all;
}();

static_assert(std::ranges::adjacent_find(sorted, {}, &processor::name) == sorted.end(), "a name is twice in the table");
static_assert(std::ranges::all_of(sorted,
                                  [](const processor& one) {
                                      return std::ranges::binary_search(sorted, one.canonical, {}, &processor::name);
                                  }),
              "an old name stands for nothing");

constexpr auto gfx9 = std::to_array<std::string_view>({"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"});
constexpr auto gfx9_4 = std::to_array<std::string_view>({"gfx940", "gfx941", "gfx942", "gfx950"});
constexpr auto gfx10_1 = std::to_array<std::string_view>({"gfx1010", "gfx1011", "gfx1012", "gfx1013"});
constexpr auto gfx10_3 =
    std::to_array<std::string_view>({"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"});
constexpr auto gfx11 = std::to_array<std::string_view>(
    {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"});
constexpr auto gfx12 = std::to_array<std::string_view>({"gfx1200", "gfx1201"});

struct coverage {
    std::string_view generic;
    std::span<const std::string_view> processors;
};

// gfx908 and gfx90a belong to no generic target.
constexpr auto covers = std::to_array<coverage>({
    {"gfx9-generic", gfx9},
    {"gfx9-4-generic", gfx9_4},
    {"gfx10-1-generic", gfx10_1},
    {"gfx10-3-generic", gfx10_3},
    {"gfx11-generic", gfx11},
    {"gfx12-generic", gfx12},
});

static_assert(covers.size() == static_cast<std::size_t>(std::ranges::count(sorted, true, &processor::generic)));

struct product {
    std::string_view name;
    std::string_view processor;
};

// AMD's accelerator and GPU hardware specifications (ROCm documentation).
constexpr auto products = std::to_array<product>({
    {"mi50", "gfx906"},
    {"mi60", "gfx906"},
    {"mi100", "gfx908"},
    {"mi210", "gfx90a"},
    {"mi250", "gfx90a"},
    {"mi250x", "gfx90a"},
    {"mi300a", "gfx942"},
    {"mi300x", "gfx942"},
    {"mi308x", "gfx942"},
    {"mi325x", "gfx942"},
    {"mi350x", "gfx950"},
    {"mi355x", "gfx950"},
});

} // namespace

std::span<const processor> known_processors() {
    return sorted;
}

const processor* find_processor(std::string_view name) {
    const auto* found = std::ranges::lower_bound(sorted, name, {}, &processor::name);
    return found != sorted.end() && found->name == name ? found : nullptr;
}

const processor* processor_of_mach(uint32_t mach) {
    const auto* found = std::ranges::find_if(
        sorted, [&](const processor& one) { return mach != 0 && one.mach == mach && one.name == one.canonical; });
    return found != sorted.end() ? found : nullptr;
}

std::optional<std::string_view> nearest_processor(std::string_view name) {
    nearest_name nearest(name);
    for (const processor& one : sorted) {
        nearest.consider(one.name);
    }
    return nearest.best();
}

std::span<const std::string_view> covered_by(std::string_view generic) {
    const auto* found = std::ranges::find(covers, generic, &coverage::generic);
    return found != covers.end() ? found->processors : std::span<const std::string_view>{};
}

std::optional<std::string_view> processor_of_product(std::string_view product) {
    const auto* found =
        std::ranges::find_if(products, [&](const auto& one) { return same_letters(one.name, product); });
    return found != products.end() ? std::optional(found->processor) : std::nullopt;
}

} // namespace amd_gpu
