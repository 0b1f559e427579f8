// Any bytes as a file with GPU code, and as what the loader reads: little comes of them, and what comes is well formed.
#include "environment/code_objects.hpp"
#include "environment/elf_file.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const embedded_code code = read_embedded_code(bytes);
    code_part all = code.all();
    for (const target_id& one : all.targets) {
        const auto again = parse_target(one.text());
        if (!again || *again != one)
            std::abort();
    }
    for (const code_part& part : code.parts)
        if ((part.empty() && part.hollow.empty()) || !std::is_sorted(part.targets.begin(), part.targets.end()))
            std::abort();
    const auto linked = read_elf_dynamic(bytes);
    if (linked && (linked->soname.find('\0') != std::string::npos || linked->needed.size() > size))
        std::abort();
    return 0;
}
