#include "spank/binding.hpp"

#include <array>
#include <sched.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr std::size_t most_cpus = 4096;

/// A set of CPUs, as large as the kernel's largest.
class cpu_mask {
  public:
    void add(std::size_t cpu) { CPU_SET_S(cpu, bytes, set()); }
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(CPU_COUNT_S(bytes, set())); }
    [[nodiscard]] cpu_list list() const {
        cpu_list cpus;
        for (uint32_t cpu = 0; cpu < most_cpus; ++cpu)
            if (CPU_ISSET_S(cpu, bytes, set()) != 0)
                cpus.push_back(cpu);
        return cpus;
    }
    bool load() { return ::sched_getaffinity(0, bytes, set()) == 0; }
    [[nodiscard]] bool use() const { return ::sched_setaffinity(0, bytes, set()) == 0; }

  private:
    static constexpr std::size_t bytes = CPU_ALLOC_SIZE(most_cpus);
    cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
    [[nodiscard]] const cpu_set_t* set() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

    std::array<unsigned long, bytes / sizeof(unsigned long)> words_{};
};

} // namespace

std::optional<own_cpus> read_own_cpus() {
    cpu_mask now;
    if (!now.load())
        return std::nullopt;
    // What the kernel leaves of "all of them" is the cpuset.
    cpu_mask all;
    for (std::size_t cpu = 0; cpu < most_cpus; ++cpu)
        all.add(cpu);
    cpu_mask allowed = now;
    if (all.use() && !allowed.load())
        allowed = now;
    if (!now.use())
        return std::nullopt;
    // A cpuset of the whole machine fences nothing in.
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    return own_cpus{now.list(), allowed.list(), online > 0 && allowed.count() < static_cast<std::size_t>(online)};
}

bool bind_to(const cpu_list& cpus) {
    cpu_mask wanted;
    for (const uint32_t cpu : cpus)
        if (cpu < most_cpus)
            wanted.add(cpu);
    return wanted.use();
}

} // namespace amd_gpu
