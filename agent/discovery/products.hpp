// What a GPU is by its PCI device id: the only name of it that neither a driver's nor a library's version changes.
// Pure.
#pragma once

#include "node/node.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace amd_gpu {

/// A row of the table.
struct product {
    uint32_t device = 0;        ///< PCI device id, of vendor 0x1002
    uint32_t compute_units = 0; ///< of one die, where the id alone does not tell the model; otherwise 0
    std::string_view model;     ///< "MI250X"; empty where several products share the id
    gpu_kind kind = gpu_kind::discrete;
    uint32_t dies_per_package = 1; ///< PCI functions on one package (OAM or card)
    bool xgmi = false; ///< every package is linked with the others of a node; a PCIe card may have a bridge or not
};

/// The product with a PCI device id. `compute_units` are those of one whole die, where KFD tells them: MI250X and MI250
/// share an id and differ in these. The model is empty when they would decide and are not known. Nothing for an id that
/// is not in the table.
std::optional<product> find_product(uint32_t device, std::optional<uint32_t> compute_units);

/// Whether a processor ("gfx1036") is only found in the graphics unit of a desktop or notebook CPU. MI300A's is not.
bool is_integrated_processor(std::string_view processor);

} // namespace amd_gpu
