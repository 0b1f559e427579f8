// LLVM's table of AMDGPU processors as constant data: every name up to LLVM 22 (gfx940 and gfx941 left it with LLVM 21,
// but code and environments for them exist), which of them take sramecc and xnack in a target ID, and what generic
// targets cover. Source: LLVM AMDGPUUsage, tables "AMDGPU Processors" and "AMDGPU Generic Processors"; features as
// clang 22 accepts them.
#include "target/spelling.hpp"
#include "target/target.hpp"

#include <algorithm>
#include <array>

namespace amd_gpu {
namespace {

enum class features { none, xnack, sramecc_xnack };

constexpr processor gpu(std::string_view name, features has = features::none) {
    return {name, name, has == features::sramecc_xnack, has != features::none, false};
}
constexpr processor generic(std::string_view name, features has = features::none) {
    return {name, name, has == features::sramecc_xnack, has != features::none, true};
}
constexpr processor old_name(std::string_view name, std::string_view stands_for) {
    return {name, stands_for};
}

constexpr auto by_family = std::to_array<processor>({
    // Names for the compiler's own tests: no device is one.
    gpu("generic"),
    gpu("generic-hsa"),
    // GFX6, Southern Islands
    gpu("gfx600"),
    gpu("gfx601"),
    gpu("gfx602"),
    old_name("tahiti", "gfx600"),
    old_name("pitcairn", "gfx601"),
    old_name("verde", "gfx601"),
    old_name("hainan", "gfx602"),
    old_name("oland", "gfx602"),
    // GFX7, Sea Islands
    gpu("gfx700"),
    gpu("gfx701"),
    gpu("gfx702"),
    gpu("gfx703"),
    gpu("gfx704"),
    gpu("gfx705"),
    old_name("kaveri", "gfx700"),
    old_name("hawaii", "gfx701"),
    old_name("kabini", "gfx703"),
    old_name("mullins", "gfx703"),
    old_name("bonaire", "gfx704"),
    // GFX8, Volcanic Islands
    gpu("gfx801", features::xnack),
    gpu("gfx802"),
    gpu("gfx803"),
    gpu("gfx805"),
    gpu("gfx810", features::xnack),
    old_name("carrizo", "gfx801"),
    old_name("iceland", "gfx802"),
    old_name("tonga", "gfx802"),
    old_name("fiji", "gfx803"),
    old_name("polaris10", "gfx803"),
    old_name("polaris11", "gfx803"),
    old_name("tongapro", "gfx805"),
    old_name("stoney", "gfx810"),
    // GFX9, Vega and CDNA
    gpu("gfx900", features::xnack),
    gpu("gfx902", features::xnack),
    gpu("gfx904", features::xnack),
    gpu("gfx906", features::sramecc_xnack),
    gpu("gfx908", features::sramecc_xnack),
    gpu("gfx909", features::xnack),
    gpu("gfx90a", features::sramecc_xnack),
    gpu("gfx90c", features::xnack),
    gpu("gfx940", features::sramecc_xnack),
    gpu("gfx941", features::sramecc_xnack),
    gpu("gfx942", features::sramecc_xnack),
    gpu("gfx950", features::sramecc_xnack),
    generic("gfx9-generic", features::xnack),
    generic("gfx9-4-generic", features::sramecc_xnack),
    // GFX10, RDNA 1 and 2
    gpu("gfx1010", features::xnack),
    gpu("gfx1011", features::xnack),
    gpu("gfx1012", features::xnack),
    gpu("gfx1013", features::xnack),
    gpu("gfx1030"),
    gpu("gfx1031"),
    gpu("gfx1032"),
    gpu("gfx1033"),
    gpu("gfx1034"),
    gpu("gfx1035"),
    gpu("gfx1036"),
    generic("gfx10-1-generic", features::xnack),
    generic("gfx10-3-generic"),
    // GFX11, RDNA 3
    gpu("gfx1100"),
    gpu("gfx1101"),
    gpu("gfx1102"),
    gpu("gfx1103"),
    gpu("gfx1150"),
    gpu("gfx1151"),
    gpu("gfx1152"),
    gpu("gfx1153"),
    generic("gfx11-generic"),
    // GFX12, RDNA 4; xnack is always on in gfx125x, so that a target ID cannot name it
    gpu("gfx1200"),
    gpu("gfx1201"),
    gpu("gfx1250"),
    gpu("gfx1251"),
    generic("gfx12-generic"),
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
