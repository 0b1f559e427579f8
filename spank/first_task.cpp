#include "spank/first_task.hpp"

#include "system/deadline.hpp"

#include <atomic>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr unsigned not_yet = 0; // as the kernel fills a new page
constexpr unsigned go_on = 1;
constexpr unsigned end = 2;

} // namespace

void first_task::share() {
    void* page = ::mmap(nullptr, sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    word_ = page == MAP_FAILED ? nullptr : static_cast<unsigned*>(page);
}

void first_task::tell(bool may_go_on) const {
    if (word_ == nullptr)
        return;
    std::atomic_ref<unsigned>(*word_).store(may_go_on ? go_on : end);
    ::syscall(SYS_futex, word_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool first_task::may_go_on(std::chrono::milliseconds limit) const {
    if (word_ == nullptr)
        return true;
    const auto until = deadline::in(limit);
    const std::atomic_ref<unsigned> word(*word_);
    while (word.load() == not_yet && !until.passed()) {
        const auto left = until.left();
        timespec time{};
        time.tv_sec = static_cast<time_t>(left.count() / 1000);
        time.tv_nsec = static_cast<long>(left.count() % 1000) * 1000000;
        ::syscall(SYS_futex, word_, FUTEX_WAIT, not_yet, &time, nullptr, 0);
    }
    return word.load() != end;
}

} // namespace amd_gpu
