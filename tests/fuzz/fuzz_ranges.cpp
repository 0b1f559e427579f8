// Any text as a list of numbers: what is accepted survives being written and read again.
#include "ranges.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const auto numbers = parse_ranges({reinterpret_cast<const char*>(data), size});
    if (numbers && parse_ranges(ranges_text(*numbers)) != numbers)
        std::abort();
    return 0;
}
