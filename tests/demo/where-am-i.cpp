// where-am-i: the demo program. Each rank prints one line: where it runs, which GPU it was given, on which cores it may
// run, and which build of the demo library the loader found. It asks the HIP runtime and the kernel; from the plugin's
// variables it takes only the number that the node gives to a GCD. It computes nothing and must never end with an error
// of its own making.
#include "library.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::string_view unknown = "?";

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : std::string{unknown};
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> items;
    std::stringstream stream{list};
    for (std::string item; std::getline(stream, item, ',');)
        items.push_back(item);
    return items;
}

std::string join(const std::vector<std::string>& items) {
    std::string text;
    for (const auto& item : items)
        text += (text.empty() ? "" : ",") + item;
    return text.empty() ? std::string{unknown} : text;
}

template<typename function>
function* find(void* library, const char* name) {
    return reinterpret_cast<function*>(dlsym(library, name));
}

/// The PCI addresses of the devices that HIP offers to this process (hip_runtime_api.h: both functions give 0 on
/// success).
std::vector<std::string> devices() {
    void* hip = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
    if (hip == nullptr)
        return {};
    const auto count_of = find<int(int*)>(hip, "hipGetDeviceCount");
    const auto address_of = find<int(char*, int, int)>(hip, "hipDeviceGetPCIBusId");
    int count = 0;
    if (count_of == nullptr || address_of == nullptr || count_of(&count) != 0)
        return {};
    std::vector<std::string> found;
    for (int device = 0; device < count; ++device) {
        char address[32] = {};
        if (address_of(address, sizeof address, device) == 0)
            found.emplace_back(address);
    }
    return found;
}

/// The numbers that the node gives to these devices; the plugin's two lists run in parallel.
std::vector<std::string> numbers(const std::vector<std::string>& addresses) {
    const auto gcds = split(variable("SLURM_AMD_GPU_GCDS"));
    const auto known = split(variable("SLURM_AMD_GPU_BDFS"));
    std::vector<std::string> found;
    for (const auto& address : addresses)
        for (size_t i = 0; i < known.size() && i < gcds.size(); ++i)
            if (known[i] == address)
                found.push_back(gcds[i]);
    return found;
}

/// The hardware threads that this process may run on, as "0-7,64-71".
std::string cores() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return std::string{unknown};
    std::vector<std::string> ranges;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        const int first = cpu;
        while (cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &set))
            ++cpu;
        if (cpu > first + 1)
            ranges.push_back(std::to_string(first) + "-" + std::to_string(cpu - 1));
        else if (cpu > first)
            ranges.push_back(std::to_string(first));
    }
    return join(ranges);
}

std::string path_of_library() {
    Dl_info info{};
    if (dladdr(reinterpret_cast<const void*>(&demo_target), &info) == 0 || info.dli_fname == nullptr)
        return std::string{unknown};
    return info.dli_fname;
}

} // namespace

int main() {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    const auto addresses = devices();
    // One write a line, so that the lines of many ranks do not mix.
    std::printf("rank %2s on %s: GCD %s %s  target %s  cpus %s  %s\n", variable("SLURM_PROCID").c_str(), host,
                join(numbers(addresses)).c_str(), join(addresses).c_str(), demo_target(), cores().c_str(),
                path_of_library().c_str());
    return 0;
}
