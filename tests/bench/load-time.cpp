// load-time LIBRARY: the median time in microseconds that a process needs to load and unload a SPANK plugin, as srun
// and slurmstepd do. Slurm's own library must be loaded first, because plugins take their symbols from the program.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <dlfcn.h>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    if (dlopen("/usr/lib/x86_64-linux-gnu/slurm-wlm/libslurmfull.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "load-time: %s\n", dlerror());
        return 1;
    }
    std::vector<double> times;
    for (int round = 0; round < 101; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        void* plugin = dlopen(argv[1], RTLD_LAZY);
        if (plugin == nullptr) {
            std::fprintf(stderr, "load-time: %s\n", dlerror());
            return 1;
        }
        dlclose(plugin);
        times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + 50, times.end());
    std::printf("%.1f\n", times[50]);
}
