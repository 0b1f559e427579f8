// amd-gpu-probe: a short-lived child that opens GCDs through HIP, runs kernels on them and prints what it measured. It
// decides no verdict, and it never runs longer than its deadline.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "bundle.hpp"
#include "options.hpp"
#include "output.hpp"
#include "probes.hpp"

extern "C" {
extern const std::byte amd_gpu_kernels_begin[];
extern const std::byte amd_gpu_kernels_end[];
}

namespace {

using namespace amd_gpu;
using namespace amd_gpu::probes;

enum exit_status : int { measured = 0, wrong_usage = 2, could_not_run = 3, call_failed = 4, deadline_passed = 5 };

std::span<const std::byte> kernels() {
    return {amd_gpu_kernels_begin, amd_gpu_kernels_end};
}

/// Says what failed and picks the exit status for it.
int report(const error& failure, hip* runtime, const std::string& probe, const std::string& bdf) {
    record line{{"type", "error"}, {"probe", probe}, {"bdf", bdf}, {"call", nullptr}, {"code", nullptr}};
    if (runtime != nullptr && runtime->failure()) {
        line["call"] = runtime->failure()->call;
        line["code"] = runtime->failure()->code;
        runtime->forget_failure();
    }
    line["text"] = failure.what;
    write_line(line);
    const bool absent = failure.code == error_code::not_found || failure.code == error_code::unsupported;
    return absent ? could_not_run : call_failed;
}

int list_targets() {
    std::vector<std::string> targets;
    for (const bundle_entry& entry : read_bundle(kernels()))
        targets.push_back(entry.target);
    std::sort(targets.begin(), targets.end());
    for (const std::string& target : targets)
        std::printf("%s\n", target.c_str());
    if (targets.empty())
        std::fputs("amd-gpu-probe: built without kernels: no compiler for amdgcn was found\n", stderr);
    return targets.empty() ? could_not_run : measured;
}

/// Lists what the runtime sees.
int list_devices(const options& asked, watchdog& watch) {
    watch.begin("devices", "");
    auto loaded = hip::load(asked.hip_library, watch);
    if (!loaded)
        return report(loaded.failure(), nullptr, "devices", "");
    hip runtime = *std::move(loaded);
    // At once: where the runtime cannot start, it is worth knowing which one that is.
    write_line({{"type", "runtime"}, {"hip", runtime.path()}});
    if (auto started = runtime.start(); !started)
        return report(started.failure(), &runtime, "devices", "");
    int version = 0;
    if (auto told = runtime.call("hipRuntimeGetVersion", runtime.functions().runtime_version, &version); !told)
        return report(told.failure(), &runtime, "devices", "");
    const auto devices = amd_gpu::probes::list_devices(runtime);
    if (!devices)
        return report(devices.failure(), &runtime, "devices", "");
    record list = record::array();
    for (const listed_device& one : *devices)
        list.push_back({{"bdf", one.address}, {"target", one.target.empty() ? record(nullptr) : record(one.target)}});
    write_line({{"type", "devices"}, {"runtime_version", version}, {"devices", std::move(list)}});
    return measured;
}

int run_probe(const std::string& name, gcd& device, const settings& sizes) {
    device.runtime().watch().begin(name, device.bdf());
    const auto run = name == "hbm_copy" ? hbm_copy : name == "pattern" ? pattern : fma64;
    const status done = run(device, sizes);
    return done ? measured : report(done.failure(), &device.runtime(), name, device.bdf());
}

int run(const options& asked, watchdog& watch) {
    const bool pairs = asked.what == command::pairs;
    const std::string name = pairs ? "links" : "";
    watch.begin(name, asked.gcds.front());
    auto loaded = hip::load(asked.hip_library, watch);
    if (!loaded)
        return report(loaded.failure(), nullptr, name, asked.gcds.front());
    hip runtime = *std::move(loaded);
    if (auto started = runtime.start(); !started)
        return report(started.failure(), &runtime, name, asked.gcds.front());
    int version = 0;
    if (auto told = runtime.call("hipRuntimeGetVersion", runtime.functions().runtime_version, &version); !told)
        return report(told.failure(), &runtime, name, asked.gcds.front());

    std::string failed;
    auto devices = gcd::open(runtime, asked.gcds, failed);
    if (!devices)
        return report(devices.failure(), &runtime, name, failed);
    for (gcd& device : *devices) {
        watch.begin(name, device.bdf());
        write_line({{"type", "start"},
                    {"bdf", device.bdf()},
                    {"hip", runtime.path()},
                    {"runtime_version", version},
                    {"target", device.target().empty() ? record(nullptr) : record(device.target())}});
        if (auto ready = device.load(kernels()); !ready)
            return report(ready.failure(), &runtime, name, device.bdf());
    }
    if (pairs) {
        const status done = links(*devices, asked.sizes);
        return done ? measured : report(done.failure(), &runtime, name, asked.gcds.front());
    }
    int worst = measured;
    for (const std::string& probe : asked.probes)
        worst = std::max(worst, run_probe(probe, devices->front(), asked.sizes));
    return worst;
}

} // namespace

int main(int count, char** arguments) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    std::signal(SIGPIPE, SIG_IGN);
    const std::vector<std::string> words(arguments + std::min(count, 1), arguments + count);
    if (words.size() == 1 && words.front() == "--version") {
        std::puts("amd-gpu-probe " AMD_GPU_VERSION);
        return measured;
    }
    const auto asked = parse_options(words);
    if (!asked) {
        std::fprintf(stderr, "amd-gpu-probe: %s\nTry 'amd-gpu-probe --help'.\n", asked.failure().what.c_str());
        return wrong_usage;
    }
    if (asked->what == command::help) {
        std::fputs(usage, stdout);
        return measured;
    }
    if (asked->what == command::targets)
        return list_targets();
    watchdog watch(asked->deadline, deadline_passed);
    const int status = asked->what == command::devices ? list_devices(*asked, watch) : run(*asked, watch);
    write_line({{"type", "end"}, {"seconds", std::chrono::duration<double>(clock::now() - begin).count()}});
    return status;
}
