// CPUs, caches and NUMA nodes as Linux shows them (Linux Documentation/ABI/stable/sysfs-devices-system-cpu).
#include "tests/sim/node/writers.hpp"

#include <numeric>

namespace sim {
namespace {

const std::string cpu_root = "sys/devices/system/cpu";
const std::string numa_root = "sys/devices/system/node";

std::string range(int count) {
    return count == 1 ? "0" : "0-" + std::to_string(count - 1);
}

/// NAME as a mask and NAME_list (or LIST) as a list.
void put_set(tree& out, const std::string& name, const std::string& list, const std::vector<int>& cpus, int all) {
    out.line(name, cpu_mask(cpus, all));
    out.line(list, cpu_list(cpus));
}

struct cache {
    const char* type;
    int level, kib, ways, id;
    const std::vector<int>* shared_by;
};

void put_cache(tree& out, const std::string& directory, const cache& c, int all) {
    constexpr int line_bytes = 64;
    out.line(directory + "/level", std::to_string(c.level));
    out.line(directory + "/type", c.type);
    out.line(directory + "/id", std::to_string(c.id));
    out.line(directory + "/size", std::to_string(c.kib) + "K");
    out.line(directory + "/coherency_line_size", std::to_string(line_bytes));
    out.line(directory + "/physical_line_partition", "1");
    out.line(directory + "/ways_of_associativity", std::to_string(c.ways));
    out.line(directory + "/number_of_sets", std::to_string(c.kib * 1024 / line_bytes / c.ways));
    put_set(out, directory + "/shared_cpu_map", directory + "/shared_cpu_list", *c.shared_by, all);
}

void put_cpu(tree& out, const processors& cpu, int number) {
    const int core = number % cpu.cores();
    const int cores_per_package = cpu.cores() / cpu.packages;
    const int package = core / cores_per_package;
    const int l3 = core / cpu.cores_per_l3;
    const int numa = core / cpu.cores_per_numa();
    const std::vector<int> of_core = cpu.cpus_of_cores(core, 1);
    const std::vector<int> of_l3 = cpu.cpus_of_cores(l3 * cpu.cores_per_l3, cpu.cores_per_l3);
    const std::vector<int> of_package = cpu.cpus_of_cores(package * cores_per_package, cores_per_package);
    const std::string directory = cpu_root + "/cpu" + std::to_string(number);

    const std::string topology = directory + "/topology/";
    out.line(topology + "core_id", std::to_string(core % cores_per_package));
    out.line(topology + "physical_package_id", std::to_string(package));
    out.line(topology + "die_id", "0");
    for (const char* name : {"core_cpus", "thread_siblings"}) {
        put_set(out, topology + name, topology + name + "_list", of_core, cpu.cpus());
    }
    for (const char* name : {"package_cpus", "core_siblings", "die_cpus"}) {
        put_set(out, topology + name, topology + name + "_list", of_package, cpu.cpus());
    }
    const std::string caches = directory + "/cache/index";
    put_cache(out, caches + "0", {"Data", 1, cpu.l1d_kib, 8, core, &of_core}, cpu.cpus());
    put_cache(out, caches + "1", {"Instruction", 1, cpu.l1i_kib, 8, core, &of_core}, cpu.cpus());
    put_cache(out, caches + "2", {"Unified", 2, cpu.l2_kib, 8, core, &of_core}, cpu.cpus());
    put_cache(out, caches + "3", {"Unified", 3, cpu.l3_kib, 16, l3, &of_l3}, cpu.cpus());
    if (number != 0) { // the first CPU cannot be taken offline
        out.line(directory + "/online", "1");
    }
    const std::string node = numa_root + "/node" + std::to_string(numa);
    out.link(directory + "/node" + std::to_string(numa), node);
    out.link(node + "/cpu" + std::to_string(number), directory);
}

void put_numa(tree& out, const processors& cpu, int number) {
    const std::string directory = numa_root + "/node" + std::to_string(number);
    const bool has_cpus = number < cpu.numa_nodes();
    put_set(out, directory + "/cpumap", directory + "/cpulist",
            cpu.cpus_of_cores(number * cpu.cores_per_numa(), has_cpus ? cpu.cores_per_numa() : 0), cpu.cpus());
    std::string distances;
    for (int other = 0; other < cpu.numa_nodes() + cpu.memory_only_numa; ++other) {
        const bool same_package = other / cpu.numa_per_package == number / cpu.numa_per_package;
        const int distance = same_package ? cpu.distance_within_package : cpu.distance_between_packages;
        distances += (distances.empty() ? "" : " ") + std::to_string(other == number ? 10 : distance);
    }
    out.line(directory + "/distance", distances);
    const std::string prefix = "Node " + std::to_string(number) + " ";
    const std::int64_t used = cpu.memory_kib_per_numa / 50;
    out.put(directory + "/meminfo", prefix + "MemTotal:       " + std::to_string(cpu.memory_kib_per_numa) + " kB\n" +
                                        prefix + "MemFree:        " + std::to_string(cpu.memory_kib_per_numa - used) +
                                        " kB\n" + prefix + "MemUsed:        " + std::to_string(used) + " kB\n" +
                                        prefix + "HugePages_Total:     0\n" + prefix + "HugePages_Free:      0\n");
    for (const char* name : {"nr_hugepages", "free_hugepages", "surplus_hugepages"}) {
        out.line(directory + "/hugepages/hugepages-2048kB/" + name, "0");
    }
}

void put_proc(tree& out, const processors& cpu) {
    const int cores_per_package = cpu.cores() / cpu.packages;
    std::string text;
    for (int number = 0; number < cpu.cpus(); ++number) {
        const int core = number % cpu.cores();
        text += "processor\t: " + std::to_string(number) + "\nvendor_id\t: " + cpu.vendor +
                "\ncpu family\t: " + std::to_string(cpu.family) + "\nmodel\t\t: " + std::to_string(cpu.model) +
                "\nmodel name\t: " + cpu.model_name + "\nstepping\t: " + std::to_string(cpu.stepping) +
                "\ncpu MHz\t\t: " + std::to_string(cpu.mhz) + ".000\ncache size\t: " + std::to_string(cpu.l2_kib) +
                " KB\nphysical id\t: " + std::to_string(core / cores_per_package) +
                "\nsiblings\t: " + std::to_string(cores_per_package * cpu.threads_per_core) +
                "\ncore id\t\t: " + std::to_string(core % cores_per_package) +
                "\ncpu cores\t: " + std::to_string(cores_per_package) + "\napicid\t\t: " + std::to_string(number) +
                "\ninitial apicid\t: " + std::to_string(number) +
                "\nfpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 16\nwp\t\t: yes\nflags\t\t: fpu vme de pse tsc "
                "msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht syscall nx mmxext "
                "pdpe1gb rdtscp lm constant_tsc pni ssse3 fma cx16 sse4_1 sse4_2 movbe popcnt aes xsave avx f16c "
                "avx2 bmi1 bmi2\nbogomips\t: " +
                std::to_string(2 * cpu.mhz) +
                ".00\nTLB size\t: 2560 4K pages\nclflush size\t: 64\ncache_alignment\t: 64\naddress sizes\t: 48 bits "
                "physical, 48 bits virtual\npower management: ts ttp tm hwpstate cpb eff_freq_ro [13] [14]\n\n";
    }
    out.put("proc/cpuinfo", text);

    const std::int64_t total = cpu.memory_kib_per_numa * cpu.numa_nodes();
    text.clear();
    for (const auto& [name, kib] : {std::pair{"MemTotal:       ", total},
                                    {"MemFree:        ", total / 50 * 49},
                                    {"MemAvailable:   ", total / 50 * 49},
                                    {"Buffers:        ", total / 1000},
                                    {"Cached:         ", total / 100},
                                    {"SwapTotal:      ", std::int64_t{0}},
                                    {"SwapFree:       ", std::int64_t{0}}}) {
        text += name + std::to_string(kib) + " kB\n";
    }
    out.put("proc/meminfo", text + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n");
}

} // namespace

void write_processors(tree& out, const processors& cpu) {
    for (const char* name : {"online", "possible", "present"}) {
        out.line(cpu_root + "/" + name, range(cpu.cpus()));
    }
    out.put(cpu_root + "/offline", "\n");
    out.put(cpu_root + "/isolated", "\n");
    out.line(cpu_root + "/kernel_max", "8191");
    out.line(cpu_root + "/smt/active", cpu.threads_per_core > 1 ? "1" : "0");
    out.line(cpu_root + "/smt/control", cpu.threads_per_core > 1 ? "on" : "notsupported");
    const int numa_nodes = cpu.numa_nodes() + cpu.memory_only_numa;
    for (const char* name : {"online", "possible", "has_memory", "has_normal_memory"}) {
        out.line(numa_root + "/" + name, range(numa_nodes));
    }
    out.line(numa_root + "/has_cpu", range(cpu.numa_nodes()));
    for (int number = 0; number < numa_nodes; ++number) {
        put_numa(out, cpu, number);
    }
    for (int number = 0; number < cpu.cpus(); ++number) {
        put_cpu(out, cpu, number);
    }
    put_proc(out, cpu);
}

} // namespace sim
