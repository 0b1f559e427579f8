// The HIP runtime of the node, loaded at run time: the functions that the probes call, found by name with dlopen and
// dlsym, and RAII over what they hand out. Signatures, numbers and names are those common to ROCm 5, 6 and 7
// (hip_runtime_api.h). Nothing here is linked against ROCm, and the library is never unloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "result.hpp"
#include "watchdog.hpp"

namespace amd_gpu::probes {

/// hipError_t values that the probes tell apart.
constexpr int hip_success = 0;
constexpr int hip_out_of_memory = 2;
constexpr int hip_no_device = 100;
constexpr int hip_invalid_device = 101;
constexpr int hip_no_binary_for_gpu = 209;
constexpr int hip_not_ready = 600;
constexpr int hip_peer_already_enabled = 704;

constexpr int hip_attribute_multiprocessors = 63; ///< hipDeviceAttributeMultiprocessorCount
constexpr int hip_copy_device_to_host = 2;        ///< hipMemcpyDeviceToHost
constexpr unsigned hip_stream_non_blocking = 1;

/// The functions of libamdhip64 that the probes use; each is set when load() succeeds.
struct hip_functions {
    int (*init)(unsigned) = nullptr;
    int (*runtime_version)(int*) = nullptr;
    int (*device_count)(int*) = nullptr;
    int (*set_device)(int) = nullptr;
    int (*pci_bus_id)(char*, int, int) = nullptr;
    int (*attribute)(int*, int, int) = nullptr;
    int (*properties)(void*, int) = nullptr;
    int (*memory_info)(std::size_t*, std::size_t*) = nullptr;
    int (*can_access_peer)(int*, int, int) = nullptr;
    int (*enable_peer_access)(int, unsigned) = nullptr;
    int (*allocate)(void**, std::size_t) = nullptr;
    int (*release)(void*) = nullptr;
    int (*allocate_host)(void**, std::size_t, unsigned) = nullptr;
    int (*release_host)(void*) = nullptr;
    int (*copy)(void*, const void*, std::size_t, int, void*) = nullptr;
    int (*fill)(void*, int, std::size_t, void*) = nullptr;
    int (*stream_create)(void**, unsigned) = nullptr;
    int (*stream_destroy)(void*) = nullptr;
    int (*event_create)(void**) = nullptr;
    int (*event_record)(void*, void*) = nullptr;
    int (*event_query)(void*) = nullptr;
    int (*event_elapsed)(float*, void*, void*) = nullptr;
    int (*event_destroy)(void*) = nullptr;
    int (*module_load)(void**, const void*) = nullptr;
    int (*module_unload)(void*) = nullptr;
    int (*module_function)(void**, void*, const char*) = nullptr;
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                  void**) = nullptr;
    const char* (*error_name)(int) = nullptr;
    bool properties_r0600 = false; ///< `properties` fills the layout of ROCm 6 and later
};

/// The call that failed last, for the report.
struct failed_call {
    std::string call;
    int code;
    std::string text;
};

/// Anything HIP handed out and wants back: memory, a stream, an event, a module.
struct giver {
    int (*give_back)(void*);
    void operator()(void* thing) const { give_back(thing); }
};
using handle = std::unique_ptr<void, giver>;

/// One loaded runtime. Single-threaded, as the probes are; it must outlive every handle.
class hip {
  public:
    /// Loads the library at PATH, or the first one found where distributions and ROCm put it. not_found tells what was
    /// tried, unsupported which function is missing. No device is touched yet.
    static result<hip> load(const std::optional<std::string>& path, watchdog& watch);

    /// hipInit. A node without a usable GPU is not_found, with the reason that /dev/kfd gives.
    status start();

    /// Calls one function of the runtime under NAME and turns its code into a status; the failure is kept for the
    /// report.
    template<typename... P, typename... A>
    status call(const char* name, int (*function)(P...), A... arguments) {
        watch_->enter(name);
        return checked(name, function(arguments...));
    }

    status checked(const char* name, int code);

    [[nodiscard]] const hip_functions& functions() const { return functions_; }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::optional<failed_call>& failure() const { return failure_; }
    [[nodiscard]] int code() const { return failure_ ? failure_->code : hip_success; }
    void forget_failure() { failure_.reset(); }
    [[nodiscard]] watchdog& watch() const { return *watch_; }

  private:
    explicit hip(watchdog& watch)
        : watch_(&watch) {}

    hip_functions functions_;
    std::string path_;
    std::optional<failed_call> failure_;
    watchdog* watch_;
};

} // namespace amd_gpu::probes
