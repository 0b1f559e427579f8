// A stream: a thread that works through a queue, and a clock of modelled time that each piece of work moves on. Streams
// run side by side; the caller never waits unless it asks to. A piece of work that hangs blocks its stream for ever.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace sim::hip {

/// An event: where the modelled clock of its stream stood when the queue reached it.
struct event {
    std::atomic<bool> recorded{false}; ///< hipEventRecord was called at least once
    std::atomic<bool> reached{true};
    std::atomic<double> microseconds{0};
};

class stream {
  public:
    /// Work returns how long it takes on the hardware, in microseconds.
    using task = std::function<double()>;

    stream();
    /// The thread ends when the queue is empty; nobody waits for it.
    ~stream();
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    void add(task work);
    void record(std::shared_ptr<event> at);
    [[nodiscard]] bool idle() const;
    void wait() const;

  private:
    struct state {
        mutable std::mutex mutex;
        mutable std::condition_variable changed;
        std::deque<task> queue;
        bool busy = false;
        bool closing = false;
        double microseconds = 0;
    };
    static void run(std::shared_ptr<state> shared);

    std::shared_ptr<state> state_; ///< shared with the thread, which may outlive this object
};

} // namespace sim::hip
