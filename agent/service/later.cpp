#include "service/later.hpp"

#include <exception>
#include <sys/syslog.h>

namespace amd_gpu {

later::later()
    : worker_([this](const std::stop_token& stop) { work(stop); }) {}

later::~later() {
    worker_.request_stop();
    changed_.notify_all();
}

void later::after(std::chrono::milliseconds delay, std::function<void()> what) {
    {
        const std::lock_guard hold(lock_);
        due_.emplace(std::chrono::steady_clock::now() + delay, std::move(what));
    }
    changed_.notify_all();
}

void later::work(const std::stop_token& stop) {
    std::unique_lock hold(lock_);
    while (!stop.stop_requested()) {
        if (due_.empty()) {
            changed_.wait(hold, stop, [this] { return !due_.empty(); });
            continue;
        }
        const auto when = due_.begin()->first;
        if (std::chrono::steady_clock::now() < when) {
            changed_.wait_until(hold, stop, when, [&] { return !due_.empty() && due_.begin()->first < when; });
            continue;
        }
        const auto what = std::move(due_.begin()->second);
        due_.erase(due_.begin());
        hold.unlock();
        try {
            what();
        } catch (const std::exception& problem) { // no memory, no processes: this one is lost, the thread is not
            ::syslog(LOG_ERR, "something that was to be done later failed: %s", problem.what());
        }
        hold.lock();
    }
}

} // namespace amd_gpu
