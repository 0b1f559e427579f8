// Exported functions of the simulated runtime: modules and launches. A module is read as the real runtime reads it: the
// bundle's entry for the device's processor, by its name and by the mark in the ELF header, and the kernels that the
// code object really has. What then runs is the CPU build of the kernel of that name.
#include <algorithm>
#include <cstring>
#include <map>

#include "probes/bundle.hpp"
#include "runtime.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace sim::hip;
using amd_gpu::probes::bundle_entry;
using amd_gpu::probes::code_object;

namespace {

/// EF_AMDGPU_MACH of each processor (LLVM AMDGPUUsage, "AMDGPU ELF Header e_flags").
const std::map<std::string, std::uint32_t>& machs() {
    static const std::map<std::string, std::uint32_t> table = {
        {"gfx803", 0x2a},  {"gfx900", 0x2c},  {"gfx906", 0x2f},  {"gfx908", 0x30},
        {"gfx90a", 0x3f},  {"gfx940", 0x40},  {"gfx941", 0x4b},  {"gfx942", 0x4c},
        {"gfx950", 0x4f},  {"gfx1030", 0x36}, {"gfx1100", 0x41}, {"gfx1101", 0x46},
        {"gfx1103", 0x44}, {"gfx1151", 0x4a}, {"gfx1200", 0x48}, {"gfx1201", 0x4e},
    };
    return table;
}

struct module {
    code_object object;
};

/// The bytes of the image at START: as far as the furthest entry of a bundle. The caller gives no size, so nothing
/// bounds the table but the table itself, as in the real runtime.
std::span<const std::byte> image_at(const void* start) {
    constexpr std::size_t table = 4096;
    const auto* const bytes = static_cast<const std::byte*>(start);
    std::uint64_t count = 0;
    std::memcpy(&count, bytes + 24, sizeof count);
    std::uint64_t end = table;
    std::uint64_t at = 32;
    for (std::uint64_t i = 0; i < count && at + 24 < table; ++i) {
        std::uint64_t offset = 0;
        std::uint64_t size = 0;
        std::uint64_t length = 0;
        std::memcpy(&offset, bytes + at, sizeof offset);
        std::memcpy(&size, bytes + at + 8, sizeof size);
        std::memcpy(&length, bytes + at + 16, sizeof length);
        end = std::max(end, offset + size);
        at += 24 + length;
    }
    return {bytes, static_cast<std::size_t>(end)};
}

/// Whether an entry named ID ("gfx90a", "gfx90a:xnack-") may run on a device called TARGET.
bool compatible(const std::string& id, const std::string& target) {
    for (std::size_t begin = 0; begin <= id.size();) {
        const std::size_t end = std::min(id.find(':', begin), id.size());
        const std::string part = id.substr(begin, end - begin);
        if (begin == 0 ? target.substr(0, target.find(':')) != part
                       : (target + ":").find(":" + part + ":") == std::string::npos)
            return false;
        begin = end + 1;
    }
    return true;
}

} // namespace

EXPORT int hipModuleLoadData(void** answer, const void* image) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipModuleLoadData"); entered != ok)
        return entered;
    constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
    if (image == nullptr || std::memcmp(image, magic.data(), magic.size()) != 0)
        return invalid_image;
    const gpu& hardware = on.current().hardware;
    for (const bundle_entry& entry : amd_gpu::probes::read_bundle(image_at(image))) {
        if (!compatible(entry.target, hardware.target()))
            continue;
        const auto object = amd_gpu::probes::read_code_object(entry.object);
        if (!object)
            return invalid_image;
        const auto mach = machs().find(hardware.processor);
        if (mach == machs().end() || mach->second != object->mach)
            continue;
        *answer = new module{*object};
        return ok;
    }
    return no_binary_for_gpu;
}

EXPORT int hipModuleUnload(void* handle) {
    delete static_cast<module*>(handle);
    return ok;
}

EXPORT int hipModuleGetFunction(void** answer, void* handle, const char* name) {
    if (const int entered = runtime::get().enter("hipModuleGetFunction"); entered != ok)
        return entered;
    const auto& present = static_cast<const module*>(handle)->object.kernels;
    const kernel* const found = find_kernel(name);
    if (found == nullptr || std::find(present.begin(), present.end(), name) == present.end())
        return not_found;
    *answer = const_cast<kernel*>(found);
    return ok;
}

EXPORT int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                 unsigned block_y, unsigned block_z, unsigned /*shared_bytes*/, void* stream,
                                 void** arguments, void** extra) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipModuleLaunchKernel"); entered != ok)
        return entered;
    const bool flat = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
    if (function == nullptr || arguments == nullptr || extra != nullptr || !flat || grid_x == 0 || block_x == 0 ||
        block_x > 1024)
        return invalid_value;
    return on.launch(on.queue(stream), *static_cast<const kernel*>(function), arguments, grid_x, block_x);
}
