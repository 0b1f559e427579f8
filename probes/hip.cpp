// Finding and loading libamdhip64.
#include "hip.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <vector>

namespace amd_gpu::probes {
namespace {

/// /opt/rocm-*/lib/libamdhip64.so, the newest first ("rocm-6.10.0" is newer than "rocm-6.9.1").
std::vector<std::string> versioned_installations() {
    std::vector<std::filesystem::path> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/opt", ignored))
        if (entry.path().filename().string().starts_with("rocm-"))
            found.push_back(entry.path());
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return strverscmp(left.c_str(), right.c_str()) > 0; });
    std::vector<std::string> libraries;
    for (const auto& directory : found)
        libraries.push_back((directory / "lib/libamdhip64.so").string());
    return libraries;
}

std::vector<std::string> candidates(const std::optional<std::string>& path) {
    if (path)
        return {*path};
    std::vector<std::string> names{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                   "/opt/rocm/lib/libamdhip64.so"};
    for (auto& installation : versioned_installations())
        names.push_back(std::move(installation));
    names.emplace_back("libamdhip64.so");
    return names;
}

/// Looks functions up in one library and remembers the first name that is missing.
class binder {
  public:
    explicit binder(void* library)
        : library_(library) {}

    template<typename function>
    void bind(function*& target, const char* name) {
        void* const symbol = dlsym(library_, name);
        if (symbol == nullptr && missing_.empty())
            missing_ = name;
        target = reinterpret_cast<function*>(symbol);
    }
    [[nodiscard]] const std::string& missing() const { return missing_; }

  private:
    void* library_;
    std::string missing_;
};

std::string bind_all(void* library, hip_functions& to) {
    binder from(library);
    from.bind(to.init, "hipInit");
    from.bind(to.runtime_version, "hipRuntimeGetVersion");
    from.bind(to.device_count, "hipGetDeviceCount");
    from.bind(to.set_device, "hipSetDevice");
    from.bind(to.pci_bus_id, "hipDeviceGetPCIBusId");
    from.bind(to.attribute, "hipDeviceGetAttribute");
    from.bind(to.memory_info, "hipMemGetInfo");
    from.bind(to.can_access_peer, "hipDeviceCanAccessPeer");
    from.bind(to.enable_peer_access, "hipDeviceEnablePeerAccess");
    from.bind(to.allocate, "hipMalloc");
    from.bind(to.release, "hipFree");
    from.bind(to.allocate_host, "hipHostMalloc");
    from.bind(to.release_host, "hipHostFree");
    from.bind(to.copy, "hipMemcpyAsync");
    from.bind(to.fill, "hipMemsetAsync");
    from.bind(to.stream_create, "hipStreamCreateWithFlags");
    from.bind(to.stream_destroy, "hipStreamDestroy");
    from.bind(to.event_create, "hipEventCreate");
    from.bind(to.event_record, "hipEventRecord");
    from.bind(to.event_query, "hipEventQuery");
    from.bind(to.event_elapsed, "hipEventElapsedTime");
    from.bind(to.event_destroy, "hipEventDestroy");
    from.bind(to.module_load, "hipModuleLoadData");
    from.bind(to.module_unload, "hipModuleUnload");
    from.bind(to.module_function, "hipModuleGetFunction");
    from.bind(to.launch, "hipModuleLaunchKernel");
    from.bind(to.error_name, "hipGetErrorName");
    // ROCm 6 renamed the function when it changed the structure; the plain name keeps the old layout.
    to.properties_r0600 = dlsym(library, "hipGetDevicePropertiesR0600") != nullptr;
    from.bind(to.properties, to.properties_r0600 ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties");
    return from.missing();
}

/// Why a node shows no GPU to HIP, as far as the kernel's device node tells.
std::string why_no_device() {
    const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (kfd >= 0) {
        close(kfd);
        return "/dev/kfd opens, but the runtime finds no usable GPU";
    }
    return "/dev/kfd: " + std::string(std::strerror(errno));
}

} // namespace

result<hip> hip::load(const std::optional<std::string>& path, watchdog& watch) {
    std::string tried;
    for (const std::string& name : candidates(path)) {
        watch.enter("dlopen of libamdhip64");
        void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            const char* const reason = dlerror();
            // A library that is there but does not load is worth more words than one that is not there.
            const bool there = name.find('/') != std::string::npos && access(name.c_str(), F_OK) == 0;
            tried += (tried.empty() ? "" : ", ") + ((path || there) && reason != nullptr ? std::string(reason) : name);
            continue;
        }
        hip loaded(watch);
        loaded.path_ = name;
        if (const std::string missing = bind_all(library, loaded.functions_); !missing.empty())
            return error{error_code::unsupported, name + " has no function " + missing};
        Dl_info where{};
        if (dladdr(reinterpret_cast<void*>(loaded.functions_.init), &where) != 0 && where.dli_fname != nullptr)
            loaded.path_ = where.dli_fname;
        return loaded;
    }
    return error{error_code::not_found, "no HIP runtime found; tried " + tried};
}

status hip::start() {
    status started = call("hipInit", functions_.init, 0U);
    // ROCm 5 says "invalid device" where ROCm 6 says "no device".
    if (!started && (code() == hip_no_device || code() == hip_invalid_device))
        return error{error_code::not_found, failure_->text + ": " + why_no_device()};
    return started;
}

status hip::checked(const char* name, int code) {
    if (code == hip_success)
        return success();
    const char* const known = functions_.error_name(code);
    failure_ = failed_call{name, code, known != nullptr ? known : "unknown error"};
    return error{error_code::internal, failure_->text};
}

} // namespace amd_gpu::probes
