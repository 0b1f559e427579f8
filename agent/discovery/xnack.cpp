#include "discovery/xnack.hpp"

#include "target/target.hpp"

#include <algorithm>
#include <array>

namespace amd_gpu {
namespace {

/// Processors on which retries after page faults are off unless the parameter says otherwise, in all kernels that know
/// them for computing. Kernels differ about gfx90c and are not asked about the other APUs of GFX9.
constexpr std::array<std::string_view, 8> no_retry = {"gfx900", "gfx906", "gfx908", "gfx90a",
                                                      "gfx940", "gfx941", "gfx942", "gfx950"};
/// Linux kfd_priv.h, KFD_SUPPORT_XNACK_PER_PROCESS: GC 9.4.2, 9.4.3, 9.4.4 and 9.5.0.
constexpr std::array<std::string_view, 5> mode_of_process = {"gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"};

bool contains(const auto& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
}

/// Whether faulting accesses are not retried.
std::optional<bool> retries_off(const xnack_facts& facts) {
    if (facts.virtual_function && facts.processor == "gfx90a")
        return true;
    if (facts.noretry == 0 || facts.noretry == 1)
        return facts.noretry == 1;
    if (facts.noretry == -1 && contains(no_retry, facts.processor))
        return true;
    return std::nullopt;
}

} // namespace

xnack_modes xnack_of(const xnack_facts& facts) {
    const processor* known = find_processor(facts.processor);
    if (known == nullptr)
        return {};
    if (!known->has_xnack)
        return {std::nullopt, false};
    // GFX10 has the feature for code, but the driver never turns it on.
    if (facts.processor.starts_with("gfx10"))
        return {false, false};
    if (!facts.processor.starts_with("gfx9"))
        return {};
    const auto off = retries_off(facts);
    xnack_modes modes;
    if (off)
        modes.by_default = !*off;
    if (facts.shared_virtual_memory == false || (facts.virtual_function && facts.processor == "gfx90a"))
        modes.selectable = false;
    else if (facts.shared_virtual_memory && contains(mode_of_process, facts.processor))
        modes.selectable = true;
    else if (facts.shared_virtual_memory && off)
        modes.selectable = !*off; // with retries, code for either mode runs; without, only code that needs none
    return modes;
}

} // namespace amd_gpu
