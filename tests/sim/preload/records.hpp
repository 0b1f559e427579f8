// The CPU masks of a simulated node's threads, one small file each in /run/amd-gpu-sim/affinity, because the kernel
// takes no CPU that the host lacks. Owns these files. It uses system calls alone (no heap, no locks), so that it may be
// called in a signal handler or in the child of a fork, and it never fails loudly: without the directory there are no
// masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace sim::preload {

constexpr std::size_t mask_bytes = 128; // 1024 CPUs

struct mask {
    unsigned char bits[mask_bytes] = {};
};

/// Number of CPUs of the node; 0 outside a simulated node.
int cpus();

/// The mask of thread TID: its own; else that of its process, of its parent, ..., else all CPUs of the node.
mask effective(pid_t tid);

/// True when TID itself has a mask on record.
bool recorded(pid_t tid, mask& found);

/// Records MASK for TID (a living thread, any owner). False when that is impossible.
bool record(pid_t tid, const mask& wanted);

/// Forgets what is on record for TID.
void forget(pid_t tid);

} // namespace sim::preload
