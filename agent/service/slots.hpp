// A bound on what one user may have going on at the same time, so that nobody's jobs wait because of another's.
#pragma once

#include "system/deadline.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <sys/types.h>
#include <utility>

namespace amd_gpu {

class slots {
  public:
    /// `most`: how many slots each user has.
    explicit slots(unsigned most)
        : most_(most) {}

    /// One slot of a user, until it is destroyed.
    class slot {
      public:
        slot(slots& all, uid_t user)
            : all_(&all)
            , user_(user) {}
        slot(slot&& other) noexcept
            : all_(std::exchange(other.all_, nullptr))
            , user_(other.user_) {}
        slot(const slot&) = delete;
        slot& operator=(const slot&) = delete;
        slot& operator=(slot&&) = delete;
        ~slot() {
            if (all_ != nullptr)
                all_->give_back(user_);
        }

      private:
        slots* all_;
        uid_t user_;
    };

    /// Waits for a slot. Nothing when none becomes free in time.
    std::optional<slot> take(uid_t user, deadline until) {
        std::unique_lock hold(lock_);
        const auto is_free = [&] {
            const auto mine = taken_.find(user);
            return mine == taken_.end() || mine->second < most_;
        };
        if (!freed_.wait_until(hold, until.when(), is_free))
            return std::nullopt;
        ++taken_[user];
        return std::optional<slot>(std::in_place, *this, user);
    }

  private:
    void give_back(uid_t user) {
        const std::lock_guard hold(lock_);
        const auto mine = taken_.find(user);
        if (--mine->second == 0)
            taken_.erase(mine);
        freed_.notify_all();
    }

    const unsigned most_;
    std::mutex lock_;
    std::condition_variable freed_;
    std::map<uid_t, unsigned> taken_;
};

} // namespace amd_gpu
