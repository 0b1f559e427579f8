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
    [[nodiscard]] bool has(std::size_t cpu) const { return CPU_ISSET_S(cpu, bytes, set()) != 0; }
    [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(CPU_COUNT_S(bytes, set())); }
    bool load() { return ::sched_getaffinity(0, bytes, set()) == 0; }
    [[nodiscard]] bool use() const { return ::sched_setaffinity(0, bytes, set()) == 0; }

  private:
    static constexpr std::size_t bytes = CPU_ALLOC_SIZE(most_cpus);
    cpu_set_t* set() { return reinterpret_cast<cpu_set_t*>(words_.data()); }
    [[nodiscard]] const cpu_set_t* set() const { return reinterpret_cast<const cpu_set_t*>(words_.data()); }

    std::array<unsigned long, bytes / sizeof(unsigned long)> words_{};
};

/// The CPUs that this process could bind itself to: what the kernel leaves of "all of them", which is the cpuset's.
cpu_mask cpuset_of(const cpu_mask& now) {
    cpu_mask all;
    for (std::size_t cpu = 0; cpu < most_cpus; ++cpu)
        all.add(cpu);
    cpu_mask allowed;
    if (!all.use() || !allowed.load())
        return now;
    return now.use() ? allowed : cpu_mask();
}

} // namespace

std::string bind_closest(const std::vector<uint32_t>& closest) {
    if (closest.empty())
        return "which cores are closest to its GCDs is not known, so it was not bound";
    cpu_mask now;
    if (!now.load())
        return "its cores cannot be read, so it was not bound";
    const cpu_mask cpuset = cpuset_of(now);
    // A cpuset of the whole machine fences nothing in: then only what Slurm bound the task to is known to be its own.
    const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
    const bool fenced = online > 0 && cpuset.count() < static_cast<std::size_t>(online);
    const cpu_mask& allowed = fenced ? cpuset : now;
    cpu_mask wanted;
    for (const uint32_t cpu : closest)
        if (cpu < most_cpus && allowed.has(cpu))
            wanted.add(cpu);
    if (wanted.count() == 0)
        return "none of the cores that it may use is close to its GCDs";
    return wanted.use() ? std::string() : "it could not be bound to its closest cores";
}

} // namespace amd_gpu
