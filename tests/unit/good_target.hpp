// A target ID that a test writes down.
#pragma once

#include "target/target.hpp"

#include <catch2/catch.hpp>

namespace amd_gpu {

/// Reads one that must be good.
inline target_id target(const std::string& text) {
    const result<target_id> read = parse_target(text);
    INFO(text);
    REQUIRE(read);
    return *read;
}

} // namespace amd_gpu
