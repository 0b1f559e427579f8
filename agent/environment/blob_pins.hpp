// Which jobs of this node use which images, in files, so that it is known after a restart of the agent and forgotten
// after one of the node.
#pragma once

#include "environment/blob_place.hpp"

#include <vector>

namespace amd_gpu {

struct blob_pin {
    uint32_t job = 0;
    std::string sha256;

    auto operator<=>(const blob_pin&) const = default;
};

/// This boot of the node; empty when the kernel does not tell.
std::string this_boot();

/// Pins an image for a job. Fine when it is. Whoever calls holds the lock of the pins, shared or alone; so below.
status add_pin(const blob_place& place, const blob_pin& pin);
void remove_pin(const blob_place& place, const blob_pin& pin);
[[nodiscard]] bool is_pinned(const blob_place& place, const blob_pin& pin);
/// The pins of this boot, sorted.
std::vector<blob_pin> read_pins(const blob_place& place);
/// Removes pins of earlier boots, and what is no pin.
void drop_stale_pins(const blob_place& place);

} // namespace amd_gpu
