// What amdkfd shows of a process that has the GPUs open: /sys/class/kfd/kfd/proc/PID. Best effort: where the directory
// cannot be written nothing is said. The entry goes when the process ends, however it ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology.hpp"

namespace sim::hip {

class registration {
  public:
    /// Registers this process with all of GPUS and removes entries that dead processes left.
    void open(const std::vector<gpu>& gpus);
    /// Bytes that this process now holds on the GPU.
    void set_memory(std::uint64_t gpu_id, std::uint64_t bytes) const;
    /// One queue of this process on the GPU.
    void add_queue(std::uint64_t gpu_id) const;
    /// Takes the entry away.
    void close();

  private:
    std::string directory_; ///< empty: not registered
};

} // namespace sim::hip
