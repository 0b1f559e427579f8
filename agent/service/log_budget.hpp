// So many lines in the log for each user and minute, so that one user's jobs cannot bury what an administrator looks
// for.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <sys/types.h>

namespace amd_gpu {

class log_budget {
  public:
    enum class answer { write, last, drop };

    explicit log_budget(unsigned lines_a_minute)
        : most_(lines_a_minute) {}

    /// Whether a line about a user may be written now; `last`: it may, and no more in this minute.
    answer line(uid_t user, std::chrono::steady_clock::time_point now) {
        const std::lock_guard hold(lock_);
        // Whoever has been quiet for a minute needs no memory.
        std::erase_if(users_, [&](const auto& one) { return now - one.second.begun >= std::chrono::minutes(1); });
        auto& mine = users_.try_emplace(user, spent{now, 0}).first->second;
        if (mine.lines == most_)
            return answer::drop;
        return ++mine.lines == most_ ? answer::last : answer::write;
    }

  private:
    struct spent {
        std::chrono::steady_clock::time_point begun;
        unsigned lines = 0;
    };

    const unsigned most_;
    std::mutex lock_;
    std::map<uid_t, spent> users_;
};

} // namespace amd_gpu
