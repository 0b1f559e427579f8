// Any text as what the reader of a GPU's files prints. Names stay below the GPU's directory, and hiding serials twice
// is hiding them once.
#include "snapshot/hide.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    auto files = parse_gpu_files({reinterpret_cast<const char*>(data), size});
    for (const auto& entry : files.entries)
        if (entry.path.empty() || entry.path.front() == '/' || entry.path.find("..") != std::string::npos)
            std::abort();
    hide_serials(files);
    const auto once = files.entries;
    hide_serials(files);
    if (files.entries != once)
        std::abort();
    return 0;
}
