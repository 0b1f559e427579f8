// Any bytes as an archive: they are refused, or what comes out stays inside of its tree and can be packed again.
#include "system/archive.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const archive_limits limits{1000, 1U << 16, 1U << 20};
    const auto entries = unpack({reinterpret_cast<const char*>(data), size}, limits);
    if (!entries)
        return 0;
    std::size_t bytes = 0;
    for (const auto& entry : *entries) {
        const std::filesystem::path path(entry.path);
        const auto meant = entry.what == archive_entry::kind::link ? path.parent_path() / entry.content : path;
        const std::string resolved = meant.lexically_normal().string();
        if (path.is_absolute() || resolved.starts_with('/') || resolved.starts_with(".."))
            std::abort();
        bytes += entry.content.size();
    }
    if (entries->size() > limits.entries || bytes > limits.total_bytes)
        std::abort();
    const auto packed = pack(*entries, 0);
    if (packed && !unpack(*packed))
        std::abort();
    return 0;
}
