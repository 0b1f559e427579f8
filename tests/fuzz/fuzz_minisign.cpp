// Any text as a signature or as a key: it is refused, for nobody here can sign.
#include "system/minisign.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const std::vector<std::string> keys{"RWRXBlwiOk/RGlWrPX9mGf0mIvVjVxG6dj2eN3878MNW92eggbrmga1v", text};
    // The signature in the corpus is of "hello\n", and of nothing else.
    if (verify_signature("hello", text, keys))
        std::abort();
    if (const auto key = signing_key::parse(text); key && !public_key_mistake(key->public_key()).empty())
        std::abort();
    return 0;
}
