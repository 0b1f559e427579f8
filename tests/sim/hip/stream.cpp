// Streams and their threads.
#include "stream.hpp"

#include <thread>

namespace sim::hip {

stream::stream()
    : state_(std::make_shared<state>()) {
    std::thread(run, state_).detach();
}

stream::~stream() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->closing = true;
    }
    state_->changed.notify_all();
}

void stream::add(task work) {
    {
        const std::lock_guard lock(state_->mutex);
        state_->queue.push_back(std::move(work));
    }
    state_->changed.notify_all();
}

void stream::record(std::shared_ptr<event> at) {
    at->recorded = true;
    at->reached = false;
    add([at = std::move(at), shared = state_.get()] {
        at->microseconds = shared->microseconds;
        at->reached = true;
        return 0.0;
    });
}

bool stream::idle() const {
    const std::lock_guard lock(state_->mutex);
    return state_->queue.empty() && !state_->busy;
}

void stream::wait() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return state_->queue.empty() && !state_->busy; });
}

void stream::run(std::shared_ptr<state> shared) {
    std::unique_lock lock(shared->mutex);
    for (;;) {
        shared->changed.wait(lock, [&] { return shared->closing || !shared->queue.empty(); });
        if (shared->queue.empty())
            return;
        const task work = std::move(shared->queue.front());
        shared->queue.pop_front();
        shared->busy = true;
        lock.unlock();
        const double microseconds = work();
        lock.lock();
        shared->microseconds += microseconds;
        shared->busy = false;
        shared->changed.notify_all();
    }
}

} // namespace sim::hip
