// A variant's record, which a user may have written: whatever it says, it is refused or it is within bounds, and one
// that is read is written as it would be read again.
#include "environment/variant.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const auto record = parse_record({reinterpret_cast<const char*>(data), size});
    if (!record)
        return 0;
    const bool placed = record->kept == storage::blob ? is_sha256(record->blob) : is_plain_path(record->path);
    if (!placed || record->targets.empty())
        std::abort();
    for (const auto& change : record->edits)
        if (!may_edit(change.name))
            std::abort();
    const auto again = parse_record(to_record(*record));
    if (!again || !(*again == *record))
        std::abort();
    return 0;
}
