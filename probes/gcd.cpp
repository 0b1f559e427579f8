// Finding a GCD and working on it.
#include "gcd.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "options.hpp"

namespace amd_gpu::probes {
namespace {

constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20U;

/// The name in hipDeviceProp_t. The structure changed in ROCm 6: gcnArchName at 396 of 792 bytes before, at 1160 of
/// 1472 since. What does not look like a processor is unknown.
std::string target_of(hip& runtime, int ordinal) {
    std::vector<char> properties(8192, '\0');
    if (!runtime.call("hipGetDeviceProperties", runtime.functions().properties, static_cast<void*>(properties.data()),
                      ordinal))
        return "";
    const char* const name = properties.data() + (runtime.functions().properties_r0600 ? 1160 : 396);
    const std::string target(name, strnlen(name, 256));
    return target.starts_with("gfx") ? target : "";
}

/// The address of every device that HIP lists, in its order.
result<std::vector<std::string>> addresses(hip& runtime) {
    int count = 0;
    if (auto counted = runtime.call("hipGetDeviceCount", runtime.functions().device_count, &count); !counted)
        return counted.failure();
    std::vector<std::string> found;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        char text[64] = "";
        if (auto named = runtime.call("hipDeviceGetPCIBusId", runtime.functions().pci_bus_id, &text[0],
                                      static_cast<int>(sizeof text), ordinal);
            !named)
            return named.failure();
        found.push_back(normal_bdf(text).value_or(text));
    }
    return found;
}

std::string address_of(const std::string& id) {
    return id.substr(0, id.find('/'));
}

/// The driver's file with the engine clock in Hz (Linux amdgpu, hwmon freq1_input); empty when there is none.
std::string clock_file(const std::string& bdf) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/devices/" + bdf + "/hwmon", ignored))
        if (std::filesystem::exists(entry.path() / "freq1_input", ignored))
            return (entry.path() / "freq1_input").string();
    return "";
}

} // namespace

result<std::vector<listed_device>> list_devices(hip& runtime) {
    const auto found = addresses(runtime);
    if (!found)
        return found.failure();
    std::vector<listed_device> devices;
    for (const std::string& address : *found)
        devices.push_back({address, target_of(runtime, static_cast<int>(devices.size()))});
    return devices;
}

std::vector<int> ordinals_of(const std::vector<std::string>& addresses, const std::vector<std::string>& ids) {
    std::vector<int> ordinals;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const std::string address = address_of(ids[i]);
        const int partition = address.size() < ids[i].size() ? std::stoi(ids[i].substr(address.size() + 1)) : 0;
        std::vector<int> visible;
        for (std::size_t d = 0; d < addresses.size(); ++d)
            if (addresses[d] == address)
                visible.push_back(static_cast<int>(d));
        const auto same = [&](const std::string& id) { return address_of(id) == address; };
        const auto asked = std::count_if(ids.begin(), ids.end(), same);
        const auto earlier = std::count_if(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i), same);
        const bool only_these = visible.size() == static_cast<std::size_t>(asked);
        const auto nth = static_cast<std::size_t>(only_these ? earlier : partition);
        const std::string function = address.substr(0, address.size() - 1) + std::to_string(partition);
        const auto own_function = std::find(addresses.begin(), addresses.end(), function);
        if (partition > 0 && visible.size() <= 1 && own_function != addresses.end())
            ordinals.push_back(static_cast<int>(own_function - addresses.begin()));
        else if (nth < visible.size())
            ordinals.push_back(visible[nth]);
        else
            ordinals.push_back(-1);
    }
    return ordinals;
}

result<std::vector<gcd>> gcd::open(hip& runtime, const std::vector<std::string>& ids, std::string& failed) {
    failed = ids.front();
    const auto listed = addresses(runtime);
    if (!listed)
        return listed.failure();
    const auto ordinals = ordinals_of(*listed, ids);
    std::vector<gcd> devices;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        failed = ids[i];
        if (ordinals[i] < 0) {
            std::string others;
            for (const std::string& address : *listed)
                others += (others.empty() ? "" : " ") + address;
            return error{error_code::not_found,
                         "HIP lists no device " + ids[i] + "; it lists: " + (others.empty() ? "none" : others)};
        }
        gcd device(runtime);
        device.bdf_ = ids[i];
        device.ordinal_ = ordinals[i];
        device.clock_file_ = clock_file(address_of(ids[i]));
        if (auto selected = device.select(); !selected)
            return selected.failure();
        int units = 0;
        if (auto asked = runtime.call("hipDeviceGetAttribute", runtime.functions().attribute, &units,
                                      hip_attribute_multiprocessors, device.ordinal_);
            !asked)
            return asked.failure();
        device.units_ = static_cast<std::uint32_t>(std::clamp(units, 1, 4096));
        device.target_ = target_of(runtime, device.ordinal_);
        devices.push_back(std::move(device));
    }
    return devices;
}

status gcd::load(std::span<const std::byte> kernels) {
    const std::string processor = target_.empty() ? bdf_ : target_.substr(0, target_.find(':'));
    const error none{error_code::unsupported, "no kernels for " + processor};
    if (kernels.empty())
        return none;
    if (auto selected = select(); !selected)
        return selected;
    const hip_functions& functions = runtime_->functions();
    void* thing = nullptr;
    if (auto loaded = runtime_->call("hipModuleLoadData", functions.module_load, &thing,
                                     static_cast<const void*>(kernels.data()));
        !loaded)
        return runtime_->code() == hip_no_binary_for_gpu ? none : loaded.failure();
    module_ = handle(thing, {functions.module_unload});
    if (auto made =
            runtime_->call("hipStreamCreateWithFlags", functions.stream_create, &thing, hip_stream_non_blocking);
        !made)
        return made;
    stream_ = handle(thing, {functions.stream_destroy});
    return success();
}

status gcd::select() {
    return runtime_->call("hipSetDevice", runtime_->functions().set_device, ordinal_);
}

result<arrays> gcd::allocate(std::size_t count, std::uint64_t bytes) {
    const hip_functions& functions = runtime_->functions();
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    if (auto asked = runtime_->call("hipMemGetInfo", functions.memory_info, &free_bytes, &total); !asked)
        return asked.failure();
    // What is free is a hint: other processes and fragments count too. A tenth stays for the runtime itself.
    const std::uint64_t share = free_bytes / count / 10 * 9;
    bytes = bytes > least_bytes ? std::max(least_bytes, std::min<std::uint64_t>(bytes, share)) : bytes;
    for (;; bytes /= 2) {
        arrays made;
        made.bytes = bytes / sizeof(quad) * sizeof(quad);
        status allocated = success();
        while (made.memory.size() < count && allocated) {
            void* thing = nullptr;
            allocated = runtime_->call("hipMalloc", functions.allocate, &thing, static_cast<std::size_t>(made.bytes));
            if (allocated)
                made.memory.emplace_back(thing, giver{functions.release});
        }
        if (allocated)
            return made;
        if (runtime_->code() != hip_out_of_memory || bytes / 2 < least_bytes)
            return allocated.failure();
        runtime_->forget_failure();
    }
}

result<handle> gcd::allocate_host(std::uint64_t bytes) {
    void* thing = nullptr;
    if (auto made = runtime_->call("hipHostMalloc", runtime_->functions().allocate_host, &thing,
                                   static_cast<std::size_t>(bytes), 0U);
        !made)
        return made.failure();
    return handle(thing, {runtime_->functions().release_host});
}

status gcd::launch_packed(const char* name, std::uint32_t blocks, void** parameters) {
    if (auto selected = select(); !selected)
        return selected;
    void* function = nullptr;
    if (auto found = runtime_->call("hipModuleGetFunction", runtime_->functions().module_function, &function,
                                    module_.get(), name);
        !found)
        return found;
    return runtime_->call("hipModuleLaunchKernel", runtime_->functions().launch, function, blocks, 1U, 1U, block_size,
                          1U, 1U, 0U, stream_.get(), parameters, static_cast<void**>(nullptr));
}

std::uint32_t gcd::grid(std::uint64_t quads) const {
    constexpr std::uint32_t blocks_per_unit = 16;
    constexpr std::uint64_t quads_per_block = std::uint64_t{4} * block_size;
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(quads / quads_per_block, 1, std::uint64_t{units_} * blocks_per_unit));
}

result<interval> gcd::begin() {
    if (auto selected = select(); !selected)
        return selected.failure();
    interval made;
    for (handle* event : {&made.start, &made.stop}) {
        void* thing = nullptr;
        if (auto created = runtime_->call("hipEventCreate", runtime_->functions().event_create, &thing); !created)
            return created.failure();
        *event = handle(thing, {runtime_->functions().event_destroy});
    }
    if (auto recorded =
            runtime_->call("hipEventRecord", runtime_->functions().event_record, made.start.get(), stream_.get());
        !recorded)
        return recorded.failure();
    return made;
}

status gcd::end(const interval& of) {
    if (auto selected = select(); !selected)
        return selected;
    return runtime_->call("hipEventRecord", runtime_->functions().event_record, of.stop.get(), stream_.get());
}

status gcd::wait(const interval& of, const char* what) {
    using clock = std::chrono::steady_clock;
    constexpr auto sample_every = std::chrono::milliseconds(1);
    auto pause = std::chrono::microseconds(20);
    auto last_sample = clock::now() - sample_every;
    runtime_->watch().enter(what);
    for (;;) {
        const int code = runtime_->functions().event_query(of.stop.get());
        if (code != hip_not_ready) {
            const status reached = runtime_->checked("hipEventQuery", code);
            return reached ? reached : status(reached.failure().within(what));
        }
        if (!clock_file_.empty() && clock::now() - last_sample >= sample_every) {
            double hertz = 0;
            if (std::ifstream(clock_file_) >> hertz && hertz > 0)
                clock_mhz_ = hertz / 1e6;
            last_sample = clock::now();
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(500));
    }
}

result<double> gcd::seconds(const interval& of) {
    float milliseconds = 0;
    if (auto asked = runtime_->call("hipEventElapsedTime", runtime_->functions().event_elapsed, &milliseconds,
                                    of.start.get(), of.stop.get());
        !asked)
        return asked.failure();
    return static_cast<double>(milliseconds) / 1e3;
}

result<double> gcd::finish(const interval& of, const char* what) {
    if (auto ended = end(of); !ended)
        return ended.failure();
    if (auto waited = wait(of, what); !waited)
        return waited.failure();
    return seconds(of);
}

result<verification> gcd::verify(const char* name, const quad* memory, std::uint64_t quads, std::uint64_t seed) {
    if (auto selected = select(); !selected)
        return selected.failure();
    const auto outcome = allocate(1, sizeof(verification));
    if (!outcome)
        return outcome.failure();
    const auto on_host = allocate_host(sizeof(verification));
    if (!on_host)
        return on_host.failure();
    void* const on_device = outcome->memory.front().get();
    if (auto zeroed = runtime_->call("hipMemsetAsync", runtime_->functions().fill, on_device, 0, sizeof(verification),
                                     stream_.get());
        !zeroed)
        return zeroed.failure();
    const std::uint32_t blocks = grid(quads);
    if (auto launched = launch(name, blocks, memory, quads, seed, blocks, static_cast<verification*>(on_device));
        !launched)
        return launched.failure();
    if (auto fetched = fetch(on_host->get(), on_device, sizeof(verification)); !fetched)
        return fetched.failure();
    return *static_cast<const verification*>(on_host->get());
}

status gcd::fetch(void* host, const void* device, std::uint64_t bytes) {
    auto copied = begin();
    if (!copied)
        return copied.failure();
    if (auto started = runtime_->call("hipMemcpyAsync", runtime_->functions().copy, host, device,
                                      static_cast<std::size_t>(bytes), hip_copy_device_to_host, stream_.get());
        !started)
        return started;
    if (auto ended = end(*copied); !ended)
        return ended;
    return wait(*copied, "copy to the host");
}

} // namespace amd_gpu::probes
