// Any text as the index of a web server: it is refused in words, or every variant in it that may be used is within
// bounds, and written again it reads the same.
#include "environment/bundle_index.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const auto index = parse_bundle_index({reinterpret_cast<const char*>(data), size});
    if (!index) {
        if (index.failure().what.empty() || index.failure().code != error_code::peer)
            std::abort();
        return 0;
    }
    if (index->version == 0)
        std::abort();
    std::size_t usable = 0;
    for (const auto& [name, variants] : index->environments)
        for (const variant_candidate& one : variants) {
            if (!one.unusable.empty())
                continue;
            ++usable;
            const variant& found = one.found;
            if (!is_environment_name(name) || found.environment != name || found.kept != storage::blob ||
                !is_sha256(found.blob) || found.blob_bytes == 0 || found.targets.empty() || !found.path.empty() ||
                (!found.mount_point.empty() && !is_plain_path(found.mount_point)))
                std::abort();
            for (const edit& change : found.edits)
                if (!may_edit(change.name))
                    std::abort();
        }
    const auto again = parse_bundle_index(to_json(*index));
    if (!again)
        std::abort();
    std::size_t same = 0;
    for (const auto& [name, variants] : again->environments)
        same += variants.size();
    if (same != usable || again->version != index->version || again->expires != index->expires)
        std::abort();
    return 0;
}
