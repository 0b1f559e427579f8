// A moment on the monotonic clock by which something must be over. Passed down by value, so that a chain of steps
// shares one limit instead of adding up its own.
#pragma once

#include <algorithm>
#include <chrono>

namespace amd_gpu {

class deadline {
  public:
    using clock = std::chrono::steady_clock;

    static deadline in(std::chrono::milliseconds time) { return deadline(clock::now() + time); }
    [[nodiscard]] bool passed() const { return clock::now() >= when_; }
    [[nodiscard]] clock::time_point when() const { return when_; }
    /// Time left, never negative; rounded up so that a poll() with it does not spin through the last millisecond.
    [[nodiscard]] std::chrono::milliseconds left() const {
        return std::max(std::chrono::ceil<std::chrono::milliseconds>(when_ - clock::now()),
                        std::chrono::milliseconds(0));
    }
    /// The earlier of this one and `time` from now.
    [[nodiscard]] deadline at_most(std::chrono::milliseconds time) const {
        return deadline(std::min(when_, clock::now() + time));
    }

  private:
    explicit deadline(clock::time_point when)
        : when_(when) {}
    clock::time_point when_;
};

} // namespace amd_gpu
