#include "discovery/products.hpp"

#include <algorithm>
#include <array>

namespace amd_gpu {
namespace {

constexpr auto discrete = gpu_kind::discrete;
constexpr auto apu = gpu_kind::apu;
constexpr auto integrated = gpu_kind::integrated;
constexpr auto virtual_function = gpu_kind::virtual_function;

/// Ids: pci.ids and libdrm's amdgpu.ids; virtual functions: AMD's host driver (gim, amdgv_marketing_name.c). Compute
/// units, dies and links: AMD's hardware specifications in ROCm's documentation. Sorted by id, then by compute units.
/// Ids that several cards for desktops share carry no model.
constexpr auto products = std::to_array<product>({
    {0x1114, 0, "", integrated}, // Krackan
    {0x13c0, 0, "", integrated}, // Granite Ridge
    {0x1435, 0, "", integrated}, // Van Gogh (Steam Deck)
    {0x1506, 0, "", integrated}, // Mendocino
    {0x150e, 0, "", integrated}, // Strix
    {0x1586, 0, "", integrated}, // Strix Halo
    {0x15bf, 0, "", integrated}, // Phoenix
    {0x15c8, 0, "", integrated}, // Phoenix 2
    {0x15d8, 0, "", integrated}, // Picasso, Raven 2
    {0x15dd, 0, "", integrated}, // Raven Ridge
    {0x15e7, 0, "", integrated}, // Barcelo
    {0x1636, 0, "", integrated}, // Renoir
    {0x1638, 0, "", integrated}, // Cezanne
    {0x163f, 0, "", integrated}, // Van Gogh
    {0x164c, 0, "", integrated}, // Lucienne
    {0x164d, 0, "", integrated}, // Rembrandt
    {0x164e, 0, "", integrated}, // Raphael
    {0x164f, 0, "", integrated}, // Phoenix
    {0x1681, 0, "", integrated}, // Rembrandt
    {0x1900, 0, "", integrated}, // Hawk Point
    {0x1901, 0, "", integrated}, // Hawk Point 2
    {0x66a0, 60, "MI50", discrete},
    {0x66a0, 64, "MI60", discrete},
    {0x66a1, 0, "", discrete}, // MI50 and Radeon Pro VII have 60 CUs each
    {0x66a1, 64, "MI60", discrete},
    {0x66af, 0, "Radeon VII", discrete},
    {0x6860, 0, "", discrete},         // MI25, V340, V320
    {0x6864, 0, "", discrete},         // V340, MI25x2
    {0x686c, 0, "", virtual_function}, // of MI25 and V340
    {0x738c, 0, "MI100", discrete},
    {0x738e, 0, "MI100", discrete},
    {0x73a1, 0, "V620", discrete},
    {0x73a3, 0, "W6800", discrete},
    {0x73ae, 0, "V620", virtual_function},
    {0x73bf, 0, "", discrete}, // RX 6800, 6900
    {0x7408, 0, "MI250X", discrete, 2, true},
    {0x7408, 104, "MI250", discrete, 2, true},
    {0x740c, 104, "MI250", discrete, 2, true},
    {0x740c, 110, "MI250X", discrete, 2, true},
    {0x740f, 0, "MI210", discrete},
    {0x7448, 0, "W7900", discrete},
    {0x744c, 0, "", discrete}, // RX 7900 XT, XTX, GRE, M
    {0x745e, 0, "W7800", discrete},
    {0x7460, 0, "V710", discrete},
    {0x7461, 0, "V710", virtual_function},
    {0x74a0, 0, "MI300A", apu, 1, true},
    {0x74a1, 0, "MI300X", discrete, 1, true},
    {0x74a2, 0, "MI308X", discrete, 1, true},
    {0x74a5, 0, "MI325X", discrete, 1, true},
    {0x74a8, 0, "MI308X HF", discrete, 1, true},
    {0x74a9, 0, "MI300X HF", discrete, 1, true},
    {0x74b5, 0, "MI300X", virtual_function},
    {0x74b6, 0, "MI308X", virtual_function},
    {0x74b9, 0, "MI325X", virtual_function},
    {0x74bc, 0, "MI308X HF", virtual_function},
    {0x74bd, 0, "MI300X HF", virtual_function},
    {0x7550, 0, "", discrete}, // RX 9070, 9070 XT, 9070 GRE
    {0x7551, 0, "", discrete}, // R9700, R9600D
    {0x7590, 0, "", discrete}, // RX 9060, 9060 XT
    {0x75a0, 0, "MI350X", discrete, 1, true},
    {0x75a3, 0, "MI355X", discrete, 1, true},
    {0x75b0, 0, "MI350X", virtual_function},
    {0x75b3, 0, "MI355X", virtual_function},
});

static_assert(std::is_sorted(products.begin(), products.end(), [](const product& a, const product& b) {
    return a.device != b.device ? a.device < b.device : a.compute_units < b.compute_units;
}));

/// LLVM, "User Guide for AMDGPU Backend", the APUs of its table of processors; MI300A is an accelerator and not among
/// them.
constexpr std::array<std::string_view, 11> integrated_processors = {"gfx902",  "gfx909",  "gfx90c",  "gfx1033",
                                                                    "gfx1035", "gfx1036", "gfx1103", "gfx1150",
                                                                    "gfx1151", "gfx1152", "gfx1153"};

} // namespace

std::optional<product> find_product(uint32_t device, std::optional<uint32_t> compute_units) {
    const auto* const first =
        std::find_if(products.begin(), products.end(), [&](const product& p) { return p.device == device; });
    if (first == products.end())
        return std::nullopt;
    const auto* const exact = std::find_if(first, products.end(), [&](const product& p) {
        return p.device == device && compute_units && p.compute_units == *compute_units;
    });
    product found = exact == products.end() ? *first : *exact;
    // No row for any number of units and none for this number: all rows of an id agree in everything but the model.
    if (found.compute_units != 0 && found.compute_units != compute_units)
        found.model = "";
    return found;
}

bool is_integrated_processor(std::string_view processor) {
    return std::find(integrated_processors.begin(), integrated_processors.end(), processor) !=
           integrated_processors.end();
}

} // namespace amd_gpu
