// Devices, memory, faults and time of the simulated runtime.
#include "runtime.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace sim::hip {
namespace {

thread_local int chosen = 0; ///< ordinal of the thread's device

/// Waits for ever. Unkillable: a process inside vfork() shows the state D, as one that waits in the driver does; it
/// ends at SIGKILL all the same, which no program can change.
[[noreturn]] void hang(bool unkillable) {
    if (unkillable) {
        const pid_t child = vfork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                pause();
        }
    }
    for (;;)
        pause();
}

constexpr double microseconds(double bytes, double gb_s) {
    return bytes / (gb_s * 1e3);
}

} // namespace

runtime& runtime::get() {
    static auto* const only = new runtime;
    return *only;
}

int& runtime::current_ordinal() {
    return chosen;
}

int runtime::start() {
    std::call_once(once_, [this] { started_ = find_devices(); });
    return started_;
}

int runtime::find_devices() {
    const fault_list listed = read_faults(faults_path);
    faults_ = listed.faults;
    for (const fault& fault : faults_)
        if (fault.kind == "init")
            return static_cast<int>(fault.number("code"));
    const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    if (kfd < 0)
        return no_device;
    close(kfd);
    const topology node = read_topology();
    for (gpu& hardware : visible(node.gpus)) {
        auto made = std::make_unique<device>();
        made->hardware = std::move(hardware);
        devices_.push_back(std::move(made));
    }
    for (const auto& made : devices_) {
        made->peers.assign(devices_.size(), false);
        if (const fault* found = fault_for(*made, "hang", "at", "init"))
            hang(found->number("unkillable") != 0);
    }
    if (devices_.empty())
        return no_device;
    performance_ = std::make_unique<performance>(read_figures(model_path), node, faults_);
    registration_.open(node.gpus);
    std::atexit([] { get().registration_.close(); });
    return ok;
}

const fault* runtime::fault_for(const device& of, const char* kind, const char* key, std::string_view value) const {
    for (const fault& fault : faults_)
        if (fault.kind == kind && fault.gcd == of.hardware.gcd && (key == nullptr || fault.text(key) == value))
            return &fault;
    return nullptr;
}

int runtime::enter(const char* call, bool counts) {
    if (const int started = start(); started != ok)
        return started;
    if (!has(chosen))
        return invalid_device;
    device& on = at(chosen);
    if (const fault* found = fault_for(on, "error", "call", call))
        return static_cast<int>(found->number("code"));
    const fault* const lost = fault_for(on, "lost", nullptr, "");
    const long calls = counts ? ++on.calls : on.calls.load();
    return lost != nullptr && static_cast<double>(calls) > lost->number("after") ? runtime_other : ok;
}

std::uint64_t runtime::free_memory(const device& of) const {
    std::uint64_t used = 0;
    std::ifstream("/sys/bus/pci/devices/" + of.hardware.bdf + "/mem_info_vram_used") >> used;
    return of.hardware.memory - std::min(of.hardware.memory, used + of.allocated);
}

void* runtime::allocate(std::uint64_t bytes, int owner) {
    const std::lock_guard lock(memory_mutex_);
    if (owner >= 0 && bytes > free_memory(at(owner)))
        return nullptr;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return nullptr;
    madvise(memory, bytes, MADV_HUGEPAGE); // a wish: without it most of the time goes into page faults
    memory_[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, owner};
    if (owner >= 0) {
        device& on = at(owner);
        on.allocated += bytes;
        registration_.set_memory(on.hardware.gpu_id, on.allocated);
    }
    return memory;
}

int runtime::release(void* memory) {
    if (memory == nullptr)
        return ok;
    const std::lock_guard lock(memory_mutex_);
    const auto found = memory_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == memory_.end())
        return invalid_value;
    if (found->second.owner >= 0) {
        device& on = at(found->second.owner);
        on.allocated -= found->second.bytes;
        registration_.set_memory(on.hardware.gpu_id, on.allocated);
    }
    munmap(memory, found->second.bytes);
    memory_.erase(found);
    return ok;
}

int runtime::owner(const void* address) {
    const std::lock_guard lock(memory_mutex_);
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    auto found = memory_.upper_bound(at);
    if (found == memory_.begin())
        return unknown;
    --found;
    return at < found->first + found->second.bytes ? found->second.owner : unknown;
}

stream& runtime::queue(void* handle) {
    if (auto* const made = static_cast<user_stream*>(handle)) {
        device& on = at(made->device);
        if (made->blocking && on.null_stream)
            on.null_stream->wait();
        return made->queue;
    }
    device& on = current();
    for (const user_stream* other : on.streams)
        if (other->blocking)
            other->queue.wait();
    if (!on.null_stream)
        on.null_stream = std::make_unique<stream>();
    return *on.null_stream;
}

void runtime::wait_for_device() {
    device& on = current();
    for (const user_stream* each : on.streams)
        each->queue.wait();
    if (on.null_stream)
        on.null_stream->wait();
}

void runtime::submit(stream& on, const char* kind, stream::task work) {
    device& target = current();
    if (!target.has_queue) {
        registration_.add_queue(target.hardware.gpu_id);
        target.has_queue = true;
    }
    if (const fault* found = fault_for(target, "hang", "at", kind)) {
        if (found->number("unkillable") != 0)
            hang(true);
        work = []() -> double { hang(false); };
    }
    on.add(std::move(work));
}

double runtime::copy_time(const void* to, const void* from, double bytes) {
    const int target = owner(to);
    const int source = owner(from);
    if (target < 0 || source < 0)
        return target < 0 && source < 0 ? 0 : microseconds(bytes, speeds().pcie_gb_s());
    if (target == source)
        return microseconds(2 * bytes, speeds().hbm_gb_s(at(target).hardware));
    return microseconds(bytes, speeds().link_gb_s(at(source).hardware, at(target).hardware));
}

double runtime::work_time(int ordinal, const work& cost) {
    const gpu& hardware = at(ordinal).hardware;
    double local = 0;
    double remote = 0;
    const auto add = [&](const void* memory, double bytes, bool writes) {
        const int whose = memory == nullptr ? ordinal : owner(memory);
        if (whose == ordinal)
            local += microseconds(bytes, speeds().hbm_gb_s(hardware));
        else if (whose < 0)
            remote += microseconds(bytes, speeds().pcie_gb_s());
        else if (writes)
            remote += microseconds(bytes, speeds().link_gb_s(hardware, at(whose).hardware));
        else
            remote += microseconds(bytes, speeds().link_gb_s(at(whose).hardware, hardware));
    };
    if (!cost.cached) {
        add(cost.reads, cost.read_bytes, false);
        add(cost.writes, cost.written_bytes, true);
    }
    const double arithmetic = cost.flops / (speeds().fp64_tflops(hardware) * 1e6);
    return std::max({local, remote, arithmetic, speeds().launch_us()});
}

int runtime::launch(stream& on, const kernel& of, void** arguments, std::uint32_t blocks, std::uint32_t threads) {
    const bound_kernel bound = of.bind(arguments);
    const int ordinal = current_ordinal();
    submit(on, "launch", [this, ordinal, bound, kernel = &of, blocks, threads] {
        device& target = at(ordinal);
        restore(target, bound.cost);
        bound.run(blocks, threads);
        flip(target, *kernel, bound.cost);
        return work_time(ordinal, bound.cost);
    });
    return ok;
}

void runtime::flip(device& on, const kernel& of, const work& cost) {
    if (of.probe.empty() || cost.writes == nullptr)
        return;
    for (const fault& fault : faults_) {
        if (fault.kind != "flip" || fault.gcd != on.hardware.gcd || fault.text("probe") != of.probe)
            continue;
        const auto words = static_cast<std::size_t>(cost.written_bytes) / sizeof(std::uint64_t);
        const std::uint64_t bit = std::uint64_t{1} << (static_cast<unsigned>(fault.number("bit")) % 64);
        static_cast<std::uint64_t*>(cost.writes)[words / 2] ^= bit;
        const std::lock_guard lock(on.flips);
        on.flipped[cost.writes] ^= bit;
    }
}

/// A flipped bit is in what a launch leaves behind; a later launch that goes on from there starts from the true value,
/// or two launches would cancel each other's fault.
void runtime::restore(device& on, const work& cost) {
    const std::lock_guard lock(on.flips);
    const auto found = on.flipped.find(cost.writes);
    if (cost.writes == nullptr || found == on.flipped.end())
        return;
    const auto words = static_cast<std::size_t>(cost.written_bytes) / sizeof(std::uint64_t);
    static_cast<std::uint64_t*>(cost.writes)[words / 2] ^= found->second;
    on.flipped.erase(found);
}

} // namespace sim::hip
