// Any text as the answer of the process that asks rocm_smi: it is refused in words, or brings no sentinel as an id.
#include "discovery/smi.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const auto answer = parse_smi({reinterpret_cast<const char*>(data), size});
    if (!answer) {
        if (answer.failure().what.empty() && answer.failure().code == error_code::peer)
            std::abort();
        return 0;
    }
    for (const auto& device : answer->devices)
        if (device.unique_id == 0U || device.unique_id == UINT64_MAX || device.bdf.device > 31 ||
            device.bdf.function > 7 || device.partition > 15)
            std::abort();
    return 0;
}
