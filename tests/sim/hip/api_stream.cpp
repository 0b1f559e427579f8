// Exported functions of the simulated runtime: streams and events.
#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace sim::hip;

namespace {

using event_handle = std::shared_ptr<event>;

event_handle& as_event(void* handle) {
    return *static_cast<event_handle*>(handle);
}

int create_stream(const char* call, void** answer, bool blocking) {
    runtime& on = runtime::get();
    if (const int entered = on.enter(call); entered != ok)
        return entered;
    auto* const made = new user_stream;
    made->device = on.current_ordinal();
    made->blocking = blocking;
    on.current().streams.push_back(made);
    *answer = made;
    return ok;
}

} // namespace

EXPORT int hipStreamCreate(void** answer) {
    return create_stream("hipStreamCreate", answer, true);
}

EXPORT int hipStreamCreateWithFlags(void** answer, unsigned flags) {
    return create_stream("hipStreamCreateWithFlags", answer, flags == 0);
}

EXPORT int hipStreamDestroy(void* handle) {
    runtime& on = runtime::get();
    if (handle == nullptr)
        return invalid_handle;
    auto* const made = static_cast<user_stream*>(handle);
    std::erase(on.at(made->device).streams, made);
    delete made;
    return on.enter("hipStreamDestroy");
}

EXPORT int hipStreamQuery(void* handle) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipStreamQuery", false); entered != ok)
        return entered;
    return on.queue(handle).idle() ? ok : not_ready;
}

EXPORT int hipStreamSynchronize(void* handle) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipStreamSynchronize"); entered != ok)
        return entered;
    on.queue(handle).wait();
    return ok;
}

EXPORT int hipDeviceSynchronize() {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipDeviceSynchronize"); entered != ok)
        return entered;
    on.wait_for_device();
    return ok;
}

EXPORT int hipEventCreateWithFlags(void** answer, unsigned /*flags*/) {
    if (const int entered = runtime::get().enter("hipEventCreateWithFlags"); entered != ok)
        return entered;
    *answer = new event_handle(std::make_shared<event>());
    return ok;
}

EXPORT int hipEventCreate(void** answer) {
    if (const int entered = runtime::get().enter("hipEventCreate"); entered != ok)
        return entered;
    *answer = new event_handle(std::make_shared<event>());
    return ok;
}

EXPORT int hipEventDestroy(void* handle) {
    delete static_cast<event_handle*>(handle);
    return ok;
}

EXPORT int hipEventRecord(void* handle, void* stream) {
    runtime& on = runtime::get();
    if (const int entered = on.enter("hipEventRecord"); entered != ok)
        return entered;
    on.queue(stream).record(as_event(handle));
    return ok;
}

EXPORT int hipEventQuery(void* handle) {
    if (const int entered = runtime::get().enter("hipEventQuery", false); entered != ok)
        return entered;
    return as_event(handle)->reached ? ok : not_ready;
}

EXPORT int hipEventSynchronize(void* handle) {
    if (const int entered = runtime::get().enter("hipEventSynchronize"); entered != ok)
        return entered;
    while (!as_event(handle)->reached)
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    return ok;
}

EXPORT int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    if (const int entered = runtime::get().enter("hipEventElapsedTime"); entered != ok)
        return entered;
    const event& from = *as_event(start);
    const event& to = *as_event(stop);
    if (!from.recorded || !to.recorded)
        return invalid_handle;
    if (!from.reached || !to.reached)
        return not_ready;
    *milliseconds = static_cast<float>((to.microseconds - from.microseconds) / 1e3);
    return ok;
}
