// Exported functions of the simulated runtime: memory and copies.
#include <cstring>

#include "runtime.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace sim::hip;

namespace {

int allocate(const char* call, void** answer, std::size_t bytes, bool on_host) {
    runtime& on = runtime::get();
    if (const int entered = on.enter(call); entered != ok)
        return entered;
    *answer = nullptr;
    if (bytes == 0)
        return ok;
    *answer = on.allocate(bytes, on_host ? host : on.current_ordinal());
    return *answer == nullptr ? out_of_memory : ok;
}

/// Freeing waits for the device, as hipFree does.
int release(const char* call, void* memory) {
    runtime& on = runtime::get();
    if (const int entered = on.enter(call); entered != ok)
        return entered;
    on.wait_for_device();
    return on.release(memory);
}

/// All copies and fills go through a queue; `blocking` waits for it.
int enqueue(const char* call, void* stream_handle, bool blocking, stream::task work) {
    runtime& on = runtime::get();
    if (const int entered = on.enter(call); entered != ok)
        return entered;
    stream& queue = on.queue(stream_handle);
    on.submit(queue, "copy", std::move(work));
    if (blocking)
        queue.wait();
    return ok;
}

stream::task copy(void* to, const void* from, std::size_t bytes) {
    return [=] {
        std::memcpy(to, from, bytes);
        return runtime::get().copy_time(to, from, static_cast<double>(bytes));
    };
}

stream::task fill(void* memory, int value, std::size_t bytes) {
    return [=] {
        std::memset(memory, value, bytes);
        return runtime::get().copy_time(memory, memory, static_cast<double>(bytes) / 2);
    };
}

} // namespace

EXPORT int hipMalloc(void** answer, std::size_t bytes) {
    return allocate("hipMalloc", answer, bytes, false);
}

EXPORT int hipExtMallocWithFlags(void** answer, std::size_t bytes, unsigned /*flags*/) {
    return allocate("hipExtMallocWithFlags", answer, bytes, false);
}

EXPORT int hipFree(void* memory) {
    return release("hipFree", memory);
}

EXPORT int hipHostMalloc(void** answer, std::size_t bytes, unsigned /*flags*/) {
    return allocate("hipHostMalloc", answer, bytes, true);
}

EXPORT int hipHostFree(void* memory) {
    return release("hipHostFree", memory);
}

EXPORT int hipMemGetInfo(std::size_t* available, std::size_t* total) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipMemGetInfo"); entered != ok)
        return entered;
    *available = on.free_memory(on.current());
    *total = on.current().hardware.memory;
    return ok;
}

EXPORT int hipMemcpy(void* to, const void* from, std::size_t bytes, int /*kind*/) {
    return enqueue("hipMemcpy", nullptr, true, copy(to, from, bytes));
}

EXPORT int hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int /*kind*/, void* stream) {
    return enqueue("hipMemcpyAsync", stream, false, copy(to, from, bytes));
}

EXPORT int hipMemcpyHtoD(void* to, void* from, std::size_t bytes) {
    return enqueue("hipMemcpyHtoD", nullptr, true, copy(to, from, bytes));
}

EXPORT int hipMemcpyDtoH(void* to, void* from, std::size_t bytes) {
    return enqueue("hipMemcpyDtoH", nullptr, true, copy(to, from, bytes));
}

EXPORT int hipMemcpyPeerAsync(void* to, int /*to_device*/, const void* from, int /*from_device*/, std::size_t bytes,
                              void* stream) {
    return enqueue("hipMemcpyPeerAsync", stream, false, copy(to, from, bytes));
}

EXPORT int hipMemcpyPeer(void* to, int /*to_device*/, const void* from, int /*from_device*/, std::size_t bytes) {
    return enqueue("hipMemcpyPeer", nullptr, true, copy(to, from, bytes));
}

EXPORT int hipMemset(void* memory, int value, std::size_t bytes) {
    return enqueue("hipMemset", nullptr, true, fill(memory, value, bytes));
}

EXPORT int hipMemsetAsync(void* memory, int value, std::size_t bytes, void* stream) {
    return enqueue("hipMemsetAsync", stream, false, fill(memory, value, bytes));
}
