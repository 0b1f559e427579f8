// Any text as the JSON of a node: it is refused, or what comes of it survives being written and read again, and prints.
#include "commands/node_text.hpp"
#include "node/json.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const auto found = node_from_json({reinterpret_cast<const char*>(data), size});
    if (!found)
        return 0;
    const std::string text = json_text(*found, true);
    const auto again = node_from_json(text);
    if (!again || json_text(*again, true) != text)
        std::abort();
    if (node_overview(*found).empty() || node_topology(*found).empty())
        std::abort();
    static_cast<void>(node_explanation(*found));
    return 0;
}
