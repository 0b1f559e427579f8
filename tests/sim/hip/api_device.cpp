// Exported functions of the simulated runtime: initialisation, devices and their properties, peers, names of errors.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "runtime.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace sim::hip;

namespace {

constexpr int version = 50221153; ///< what libamdhip64 of ROCm 5.2.3 says

/// hipDeviceProp_t of ROCm 5 (792 bytes), as far as programs read it.
struct properties {
    char name[256];
    std::size_t totalGlobalMem;
    std::size_t sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate, memoryBusWidth;
    std::size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
    unsigned arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    std::size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard, canMapHostMemory, gcnArch;
    char gcnArchName[256];
    char rest[140];
};
static_assert(sizeof(properties) == 792 && offsetof(properties, gcnArchName) == 396 &&
              offsetof(properties, pciBusID) == 368 && offsetof(properties, multiProcessorCount) == 336);

constexpr int threads_per_block = 1024;
constexpr int l2_bytes = 8 << 20;

struct pci_address {
    unsigned domain = 0, bus = 0, device = 0, function = 0;
};

pci_address address_of(const gpu& hardware) {
    pci_address found;
    std::sscanf(hardware.bdf.c_str(), "%x:%x:%x.%x", &found.domain, &found.bus, &found.device, &found.function);
    return found;
}

struct name {
    int number;
    const char* text;
};
constexpr name names[] = {
    {ok, "hipSuccess"},
    {invalid_value, "hipErrorInvalidValue"},
    {out_of_memory, "hipErrorOutOfMemory"},
    {not_initialized, "hipErrorNotInitialized"},
    {35, "hipErrorInsufficientDriver"},
    {invalid_device_function, "hipErrorInvalidDeviceFunction"},
    {no_device, "hipErrorNoDevice"},
    {invalid_device, "hipErrorInvalidDevice"},
    {invalid_image, "hipErrorInvalidImage"},
    {no_binary_for_gpu, "hipErrorNoBinaryForGpu"},
    {214, "hipErrorECCNotCorrectable"},
    {peer_access_unsupported, "hipErrorPeerAccessUnsupported"},
    {303, "hipErrorSharedObjectInitFailed"},
    {invalid_handle, "hipErrorInvalidHandle"},
    {not_found, "hipErrorNotFound"},
    {not_ready, "hipErrorNotReady"},
    {700, "hipErrorIllegalAddress"},
    {702, "hipErrorLaunchTimeOut"},
    {peer_access_enabled, "hipErrorPeerAccessAlreadyEnabled"},
    {peer_access_not_enabled, "hipErrorPeerAccessNotEnabled"},
    {719, "hipErrorLaunchFailure"},
    {not_supported, "hipErrorNotSupported"},
    {999, "hipErrorUnknown"},
    {1052, "hipErrorRuntimeMemory"},
    {runtime_other, "hipErrorRuntimeOther"},
};

/// The value of a device attribute (hipDeviceAttribute_t), or -1.
long attribute(const gpu& of, int which) {
    switch (which) {
    case 0: // EccEnabled
        return of.sramecc ? 1 : 0;
    case 5:
        return of.clock_khz;
    case 19:
        return l2_bytes;
    case 23:
        return of.major;
    case 26: // MaxBlockDimX
    case 27:
    case 28:
    case 56:
        return threads_per_block;
    case 59:
        return of.memory_width;
    case 60:
        return of.memory_clock_khz;
    case 61:
        return of.minor;
    case 63:    // MultiprocessorCount
    case 10015: // PhysicalMultiProcessorCount
        return of.compute_units;
    case 67:
        return address_of(of).bus;
    case 68:
        return address_of(of).device;
    case 69:
        return address_of(of).domain;
    case 87:
        return of.wave_size;
    default:
        return -1;
    }
}

} // namespace

EXPORT int hipInit(unsigned /*flags*/) {
    const int started = runtime::get().start();
    // ROCm 5 says here "invalid device" where it means that there is none.
    return started == no_device ? invalid_device : started != ok ? started : runtime::get().enter("hipInit");
}

EXPORT int hipRuntimeGetVersion(int* answer) {
    *answer = version;
    return ok;
}

EXPORT int hipDriverGetVersion(int* answer) {
    *answer = version;
    return ok;
}

EXPORT int hipGetDeviceCount(int* answer) {
    *answer = 0;
    const int started = runtime::get().start();
    *answer = runtime::get().count();
    return started;
}

EXPORT int hipSetDevice(int ordinal) {
    runtime& on = runtime::get();
    if (const int started = on.start(); started != ok)
        return started;
    if (!on.has(ordinal))
        return invalid_device;
    on.current_ordinal() = ordinal;
    return on.enter("hipSetDevice");
}

EXPORT int hipGetDevice(int* answer) {
    *answer = runtime::get().current_ordinal();
    return runtime::get().enter("hipGetDevice");
}

EXPORT int hipDeviceGet(int* answer, int ordinal) {
    const int entered = runtime::get().enter("hipDeviceGet");
    *answer = ordinal;
    return entered != ok ? entered : runtime::get().has(ordinal) ? ok : invalid_device;
}

EXPORT int hipDeviceGetName(char* text, int length, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceGetName"); entered != ok)
        return entered;
    if (!on.has(ordinal) || length <= 0)
        return on.has(ordinal) ? invalid_value : invalid_device;
    std::snprintf(text, static_cast<std::size_t>(length), "%s", on.at(ordinal).hardware.name.c_str());
    return ok;
}

EXPORT int hipDeviceGetPCIBusId(char* text, int length, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceGetPCIBusId"); entered != ok)
        return entered;
    if (!on.has(ordinal))
        return invalid_device;
    const std::string& bdf = on.at(ordinal).hardware.bdf;
    if (text == nullptr || length <= static_cast<int>(bdf.size()))
        return invalid_value;
    std::memcpy(text, bdf.c_str(), bdf.size() + 1);
    return ok;
}

EXPORT int hipDeviceGetByPCIBusId(int* answer, const char* text) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceGetByPCIBusId"); entered != ok)
        return entered;
    for (int ordinal = 0; ordinal < on.count(); ++ordinal)
        if (strcasecmp(on.at(ordinal).hardware.bdf.c_str(), text) == 0) {
            *answer = ordinal;
            return ok;
        }
    return invalid_device;
}

EXPORT int hipDeviceGetUuid(void* answer, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceGetUuid"); entered != ok)
        return entered;
    if (!on.has(ordinal))
        return invalid_device;
    char digits[32];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(on.at(ordinal).hardware.unique_id));
    std::memcpy(answer, digits, 16);
    return ok;
}

EXPORT int hipDeviceGetAttribute(int* answer, int which, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceGetAttribute"); entered != ok)
        return entered;
    if (!on.has(ordinal))
        return invalid_device;
    const long value = attribute(on.at(ordinal).hardware, which);
    *answer = static_cast<int>(value);
    return value < 0 ? invalid_value : ok;
}

EXPORT int hipGetDeviceProperties(void* answer, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipGetDeviceProperties"); entered != ok)
        return entered;
    if (!on.has(ordinal))
        return invalid_device;
    const gpu& hardware = on.at(ordinal).hardware;
    const pci_address address = address_of(hardware);
    properties filled{};
    std::snprintf(filled.name, sizeof filled.name, "%s", hardware.name.c_str());
    filled.totalGlobalMem = hardware.memory;
    filled.sharedMemPerBlock = 65536;
    filled.regsPerBlock = 65536;
    filled.warpSize = hardware.wave_size;
    filled.maxThreadsPerBlock = threads_per_block;
    std::fill(filled.maxThreadsDim, filled.maxThreadsDim + 3, threads_per_block);
    std::fill(filled.maxGridSize, filled.maxGridSize + 3, 2147483647);
    filled.clockRate = hardware.clock_khz;
    filled.memoryClockRate = hardware.memory_clock_khz;
    filled.memoryBusWidth = hardware.memory_width;
    filled.totalConstMem = 2147483647;
    filled.major = hardware.major;
    filled.minor = hardware.minor;
    filled.multiProcessorCount = hardware.compute_units;
    filled.l2CacheSize = l2_bytes;
    filled.maxThreadsPerMultiProcessor = 2048;
    filled.concurrentKernels = 1;
    filled.pciDomainID = static_cast<int>(address.domain);
    filled.pciBusID = static_cast<int>(address.bus);
    filled.pciDeviceID = static_cast<int>(address.device);
    filled.maxSharedMemoryPerMultiProcessor = 65536;
    filled.canMapHostMemory = 1;
    std::snprintf(filled.gcnArchName, sizeof filled.gcnArchName, "%s", hardware.target().c_str());
    std::memcpy(answer, &filled, sizeof filled);
    return ok;
}

EXPORT int hipDeviceTotalMem(std::size_t* answer, int ordinal) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceTotalMem"); entered != ok)
        return entered;
    if (!on.has(ordinal))
        return invalid_device;
    *answer = on.at(ordinal).hardware.memory;
    return ok;
}

EXPORT int hipDeviceCanAccessPeer(int* answer, int ordinal, int peer) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceCanAccessPeer"); entered != ok)
        return entered;
    if (!on.has(ordinal) || !on.has(peer))
        return invalid_device;
    *answer = ordinal != peer && on.speeds().reachable(on.at(ordinal).hardware, on.at(peer).hardware) ? 1 : 0;
    return ok;
}

EXPORT int hipDeviceEnablePeerAccess(int peer, unsigned /*flags*/) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceEnablePeerAccess"); entered != ok)
        return entered;
    if (!on.has(peer) || peer == on.current_ordinal())
        return invalid_device;
    if (!on.speeds().reachable(on.current().hardware, on.at(peer).hardware))
        return peer_access_unsupported;
    auto access = on.current().peers[static_cast<std::size_t>(peer)];
    if (access)
        return peer_access_enabled;
    access = true;
    return ok;
}

EXPORT int hipDeviceDisablePeerAccess(int peer) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceDisablePeerAccess"); entered != ok)
        return entered;
    if (!on.has(peer))
        return invalid_device;
    auto access = on.current().peers[static_cast<std::size_t>(peer)];
    if (!access)
        return peer_access_not_enabled;
    access = false;
    return ok;
}

EXPORT int hipGetLastError() {
    return ok;
}

EXPORT int hipPeekAtLastError() {
    return ok;
}

EXPORT const char* hipGetErrorName(int number) {
    for (const name& known : names)
        if (known.number == number)
            return known.text;
    return "hipErrorUnknown";
}

EXPORT const char* hipGetErrorString(int number) {
    return hipGetErrorName(number);
}
