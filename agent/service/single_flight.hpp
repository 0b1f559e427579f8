// A value that is computed once however many ask for it at the same time, and again only when what it was computed from
// has changed. Whoever asks while another computes waits for that answer.
#pragma once

#include "result.hpp"

#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace amd_gpu {

template<typename T>
class single_flight {
  public:
    /// The value for `key`, computed by `compute` unless one is at hand that was computed from the same `state` (a
    /// fingerprint of its inputs). A failure is handed to all who wait for it, and not kept.
    result<std::shared_ptr<const T>> get(const std::string& key, const std::string& state,
                                         const std::function<result<T>()>& compute) {
        std::unique_lock hold(lock_);
        auto& entry = entries_[key];
        if (!entry)
            entry = std::make_shared<flight>();
        const auto mine = entry; // stays alive while the map changes
        const auto seen = mine->landed;
        while (mine->flying) {
            landed_.wait(hold);
            // Somebody else's flight ended while we waited: its answer is ours, a failure too.
            if (mine->landed != seen && !mine->flying && mine->state == state)
                return mine->failure ? result<std::shared_ptr<const T>>(*mine->failure) : mine->value;
        }
        if (mine->value && mine->state == state)
            return mine->value;
        mine->flying = true;
        mine->state = state;
        mine->failure.reset();
        hold.unlock();
        auto computed = guarded(compute);
        hold.lock();
        mine->flying = false;
        ++mine->landed;
        ++flights_;
        if (computed) {
            mine->value = std::make_shared<const T>(std::move(*computed));
        } else {
            mine->value.reset();
            mine->failure = computed.failure();
        }
        landed_.notify_all();
        if (mine->failure)
            return *mine->failure;
        return mine->value;
    }

    /// How often a value was really computed.
    [[nodiscard]] unsigned flights() const {
        const std::lock_guard hold(lock_);
        return flights_;
    }

  private:
    /// An exception must not leave the others waiting for a flight that never lands.
    static result<T> guarded(const std::function<result<T>()>& compute) {
        try {
            return compute();
        } catch (const std::exception& problem) {
            return error{error_code::internal, problem.what()};
        }
    }

    struct flight {
        bool flying = false;
        unsigned landed = 0;
        std::string state;
        std::shared_ptr<const T> value;
        std::optional<error> failure;
    };

    mutable std::mutex lock_;
    std::condition_variable landed_;
    std::map<std::string, std::shared_ptr<flight>> entries_;
    unsigned flights_ = 0;
};

} // namespace amd_gpu
