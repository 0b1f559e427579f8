// libFuzzer target for the text that a user may put into --amd-gpu, and for target IDs. What is accepted must survive
// printing and reading; what is refused must be refused by one short printable line.
#include "spank/option.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void check_refusal(const amd_gpu::error& failure) {
    require(!failure.what.empty() && failure.what.size() < 400);
    require(std::ranges::all_of(failure.what, [](char c) { return c >= ' ' && c <= '~'; }));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(data, data + size);
    if (const auto asked = amd_gpu::parse_request(text)) {
        const auto again = amd_gpu::parse_request(asked->text());
        require(again && *again == *asked && again->text() == asked->text());
    } else {
        check_refusal(asked.failure());
    }
    if (const auto target = amd_gpu::parse_target(text)) {
        const auto again = amd_gpu::parse_target(target->text());
        require(again && *again == *target);
        require(target->path_text().find_first_of(":+/") == std::string::npos);
    } else {
        check_refusal(target.failure());
    }
    return 0;
}
