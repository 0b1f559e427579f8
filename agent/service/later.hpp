// Does small things a moment later, on one thread of its own: what must follow the answer to a prolog or a step.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace amd_gpu {

class later {
  public:
    later();
    /// Drops what is not due yet.
    ~later();
    later(const later&) = delete;
    later& operator=(const later&) = delete;

    void after(std::chrono::milliseconds delay, std::function<void()> what);

  private:
    void work(const std::stop_token& stop);

    std::mutex lock_;
    std::condition_variable_any changed_;
    std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> due_;
    std::jthread worker_;
};

} // namespace amd_gpu
