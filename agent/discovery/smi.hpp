// GPUs as the management library rocm_smi sees them, asked in a child process: the library aborts its process on data
// it does not expect, waits on a mutex that others share and prints where it likes. Nothing here loads it.
#pragma once

#include "discovery/sysfs.hpp"
#include "node/node.hpp"
#include "system/deadline.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

struct smi_device {
    uint32_t index = 0; ///< the library's own order, which differs between its versions
    pci_address bdf;
    uint32_t partition = 0; ///< bits 28 to 31 of the id (rocm_smi.h, rsmi_dev_pci_id_get, from ROCm 6 on)
    std::optional<uint64_t> unique_id;
};

struct smi_view {
    std::string library; ///< the path or name under which it was loaded
    std::string version;
    std::vector<smi_device> devices;
};

/// The answer of the library, or why there is none: not_found (no library, looked in ...), unsupported (it does not
/// start, lacks a function), timed_out (hangs), peer (died or spoke nonsense).
using smi_answer = result<smi_view>;

/// Runs a reader and reads its answer. `reader` is a whole command line: the hidden command read-smi of this program,
/// or what a test puts in its place. A library that cannot start or ends its process is tried three times, each time in
/// a new process: another process may have held its mutex.
smi_answer ask_smi(const std::vector<std::string>& reader, deadline until);

/// The files of the locks that the library's users share, "/dev/shm/rocm_smi_card0" ...; they stay when a user dies.
std::vector<std::string> smi_locks(const sysfs& where);

/// The reader that this program starts: itself. `library` is a path, or empty for the known names.
std::vector<std::string> smi_reader(const std::string& library);

/// Reads what a reader wrote: an object with library, version and devices, or with library_error or start_error.
smi_answer parse_smi(std::string_view text);

/// What the reader does, in the child: loads the library, asks it and writes the answer to descriptor 1 as it was
/// before. Returns the exit status. The process is of no use afterwards: the library stays loaded and is not shut down.
int read_smi(const std::string& library);

} // namespace amd_gpu
