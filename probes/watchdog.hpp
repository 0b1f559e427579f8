// Ends the process when its time is over. Any call into a HIP runtime can hang for ever, so the deadline is kept by a
// thread of its own that needs nothing from the thread that hangs: it says in which call time ran out and leaves with
// _exit, because the orderly way out would hang as well. It owns that thread and the name of the current call.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace amd_gpu::probes {

class watchdog {
  public:
    /// Starts the clock: SECONDS (monotonic) from now the process ends with EXIT_CODE, unless this object is gone
    /// before.
    watchdog(double seconds, int exit_code);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// Which probe runs now, and on which GPU.
    void begin(std::string probe, std::string bdf);
    /// What is waited for now: "hipMalloc", "kernel hbm_copy". The text must live as long as the program.
    void enter(const char* what);

  private:
    void run(double seconds, int exit_code);

    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::string probe_;
    std::string bdf_;
    const char* what_ = "start";
    std::thread thread_;
};

} // namespace amd_gpu::probes
