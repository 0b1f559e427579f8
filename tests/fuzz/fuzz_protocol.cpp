// Throws bytes at the decoding of the agent's messages. What is decoded must encode to the same bytes, and what is read
// from a message must survive the way back.
#include "service/exchange.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

template<typename T>
void check_round_trip(const amd_gpu::result<T>& read, amd_gpu::result<T> (*again)(const amd_gpu::message&)) {
    if (!read)
        return;
    const auto second = again(amd_gpu::to_message(*read));
    if (!second || !(*second == *read))
        std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    const auto read = amd_gpu::decode(body);
    if (!read)
        return 0;
    const auto bytes = amd_gpu::encode(*read);
    if (size <= amd_gpu::message_limit && (!bytes || bytes->substr(4) != body))
        std::abort();
    check_round_trip(amd_gpu::to_request(*read), amd_gpu::to_request);
    check_round_trip(amd_gpu::to_reply(*read), amd_gpu::to_reply);
    return 0;
}
