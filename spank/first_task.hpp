// What the first task of a node found out for all of them. The tasks are processes of their own, forked by slurmstepd;
// what they share is a page that slurmstepd made before.
#pragma once

#include <chrono>

namespace amd_gpu {

class first_task {
  public:
    /// Makes the page; without memory the other tasks learn nothing. In slurmstepd, before it forks.
    void share();
    /// The first task: it has looked, and tasks may go on or must end.
    void tell(bool may_go_on) const;
    /// The others: waits for the first one's word. True also when it does not come in time.
    [[nodiscard]] bool may_go_on(std::chrono::milliseconds limit) const;

  private:
    unsigned* word_ = nullptr; // of slurmstepd's life: never unmapped
};

} // namespace amd_gpu
