// The state of the simulated runtime in one process: visible devices, their memory, their streams, the faults that
// apply and the modelled speeds. The functions of api_*.cpp are thin over this. It lives until the process ends and is
// never torn down, because threads of hung streams may still use it; only the entry in KFD's proc directory is taken
// away.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "performance.hpp"
#include "registration.hpp"
#include "stream.hpp"
#include "topology.hpp"

namespace sim::hip {

/// hipError_t as ROCm 5, 6 and 7 number it (hip_runtime_api.h).
enum code : int {
    ok = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    invalid_device_function = 98,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    no_binary_for_gpu = 209,
    peer_access_unsupported = 217,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    peer_access_enabled = 704,
    peer_access_not_enabled = 705,
    not_supported = 801,
    runtime_other = 1053,
};

constexpr int host = -1;    ///< owner of memory that lies on the host
constexpr int unknown = -2; ///< owner of memory that the runtime did not hand out

/// One visible GPU.
struct device {
    gpu hardware;
    std::unique_ptr<stream> null_stream;
    std::vector<struct user_stream*> streams;
    std::vector<bool> peers; ///< whose memory this one may reach, by ordinal
    std::uint64_t allocated = 0;
    std::atomic<long> calls{0};
    bool has_queue = false;
    std::map<const void*, std::uint64_t> flipped; ///< words that a fault changed, and the changed bits
    std::mutex flips;
};

struct user_stream {
    stream queue;
    int device = 0;
    bool blocking = true; ///< ordered with the null stream
};

class runtime {
  public:
    static runtime& get();

    /// Finds the devices, once. The code that hipInit gives.
    int start();
    /// Called first by every function: starts the runtime, then the faults that the node's file has for CALL. A caller
    /// polls as often as it likes, so what only asks whether work is done does not count as a call.
    int enter(const char* call, bool counts = true);

    [[nodiscard]] int count() const { return static_cast<int>(devices_.size()); }
    [[nodiscard]] bool has(int ordinal) const { return ordinal >= 0 && ordinal < count(); }
    device& at(int ordinal) { return *devices_[static_cast<std::size_t>(ordinal)]; }
    device& current() { return at(current_ordinal()); }
    int& current_ordinal();
    [[nodiscard]] const performance& speeds() const { return *performance_; }

    /// Memory of a device or, with `host`, of the host; null when there is not enough.
    void* allocate(std::uint64_t bytes, int owner);
    int release(void* memory);
    /// Who owns the memory at ADDRESS: an ordinal, `host` or `unknown`.
    int owner(const void* address);
    [[nodiscard]] std::uint64_t free_memory(const device& of) const;

    /// The queue behind a handle of the API, ordered after what it must come after.
    stream& queue(void* handle);
    /// Waits for everything on the current device.
    void wait_for_device();

    /// Starts work of KIND ("launch" or "copy") on a queue; a hang fault of that kind makes it never end.
    void submit(stream& on, const char* kind, stream::task work);
    /// Runs a kernel on the current device, with the flips that the node's file asks for.
    int launch(stream& on, const kernel& of, void** arguments, std::uint32_t blocks, std::uint32_t threads);
    /// Microseconds of a copy of BYTES between two addresses, seen from the current device.
    double copy_time(const void* to, const void* from, double bytes);

  private:
    runtime() = default;
    int find_devices();
    const fault* fault_for(const device& of, const char* kind, const char* key, std::string_view value) const;
    double work_time(int ordinal, const work& cost);
    void flip(device& on, const kernel& of, const work& cost);
    void restore(device& on, const work& cost);

    struct allocation {
        std::uint64_t bytes;
        int owner;
    };

    std::once_flag once_;
    int started_ = not_initialized;
    std::vector<std::unique_ptr<device>> devices_;
    std::unique_ptr<performance> performance_;
    std::vector<fault> faults_;
    registration registration_;
    std::mutex memory_mutex_;
    std::map<std::uintptr_t, allocation> memory_;
};

} // namespace sim::hip
