// round-trip SOCKET: the median time in milliseconds that a running agent needs to answer what GPUs the node has, over
// one connection each, as the plugin asks.
#include "service/client.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    std::vector<double> times;
    for (int round = 0; round < 101; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        const auto reply =
            amd_gpu::ask(argv[1], amd_gpu::message("discover"), amd_gpu::deadline::in(std::chrono::seconds(5)));
        if (!reply || reply->text("kind") != "discover") {
            std::fprintf(stderr, "round-trip: %s\n", reply ? "refused" : reply.failure().what.c_str());
            return 1;
        }
        times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + 50, times.end());
    std::printf("%.2f\n", times[50]);
}
