// The deadline of the process.
#include "watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

#include "output.hpp"

namespace amd_gpu::probes {

watchdog::watchdog(double seconds, int exit_code)
    : thread_([this, seconds, exit_code] { run(seconds, exit_code); }) {}

watchdog::~watchdog() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void watchdog::begin(std::string probe, std::string bdf) {
    const std::lock_guard lock(mutex_);
    probe_ = std::move(probe);
    bdf_ = std::move(bdf);
}

void watchdog::enter(const char* what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
}

void watchdog::run(double seconds, int exit_code) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, end, [this] { return over_; }))
        return;
    char limit[32];
    std::snprintf(limit, sizeof limit, "%g", seconds);
    write_line({{"type", "error"},
                {"probe", probe_},
                {"bdf", bdf_},
                {"call", what_},
                {"code", nullptr},
                {"text", std::string("deadline of ") + limit + " s passed in " + what_}});
    _exit(exit_code);
}

} // namespace amd_gpu::probes
