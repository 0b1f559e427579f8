#include "snapshot/collect.hpp"

#include "snapshot/patterns.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// Of every PCI function, below its directory: what tells functions apart, where they are and how they are linked.
constexpr const char* pci_files =
    "{vendor,device,class,revision,subsystem_vendor,subsystem_device,numa_node,local_cpus,local_cpulist,config,uevent,"
    "{current,max}_link_{speed,width},secondary_bus_number,subordinate_bus_number,driver,subsystem}";
/// The part of a function's config space that hwloc reads. Beyond it are capabilities such as the serial number of a
/// network card, which is its address.
constexpr std::size_t config_bytes = 256;

/// Of a DRM device; never its connectors, whose displays have serial numbers.
constexpr const char* drm_files = "{dev,uevent,device,subsystem}";

/// Processors and memory (hwloc 2.9, topology-linux.c), and what the kernel says of itself and its modules.
constexpr std::array sys_files = {
    "devices/system/cpu/{online,possible,present,offline,isolated,kernel_max}",
    "devices/system/cpu/smt/{active,control}",
    "devices/system/cpu/cpu[0-9]*/{online,cpu_capacity,node[0-9]*}",
    "devices/system/cpu/cpu[0-9]*/cpufreq/{cpuinfo_max_freq,base_frequency}",
    "devices/system/cpu/cpu[0-9]*/topology/*",
    "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*/{coherency_line_size,id,level,number_of_sets,"
    "physical_line_partition,shared_cpu_list,shared_cpu_map,size,type,ways_of_associativity}",
    "devices/system/node/{online,possible,has_cpu,has_memory,has_normal_memory}",
    "devices/system/node/node[0-9]*/{cpulist,cpumap,distance,meminfo,cpu[0-9]*}",
    "devices/system/node/node[0-9]*/hugepages/hugepages-*/nr_hugepages",
    "devices/system/node/node[0-9]*/access[0-9]*/initiators/{read,write}_{bandwidth,latency}",
    "kernel/mm/hugepages/hugepages-*/nr_hugepages",
    "bus/pci/drivers/amdgpu",
    "bus/pci/drivers/amdgpu/{*:*,module}",
    "module/amdgpu",
    "module/amdgpu/{version,srcversion,initstate,parameters/*}",
    "class/drm",
    "class/drm/version",
    "class/dmi/id",
    "devices/virtual/dmi/id/{sys_vendor,product_name,board_vendor,board_name,bios_vendor,bios_version,bios_date}",
};
constexpr std::array proc_files = {"cpuinfo", "meminfo", "modules", "sys/kernel/osrelease"};

/// KFD's topology, below its device's directory. The caches of its nodes, thousands of files, are nobody's input.
constexpr std::array kfd_files = {
    "proc",
    "topology/{generation_id,system_properties}",
    "topology/nodes/*",
    "topology/nodes/*/{gpu_id,name,properties}",
    "topology/nodes/*/{mem_banks,io_links,p2p_links}",
    "topology/nodes/*/{mem_banks,io_links,p2p_links}/*",
    "topology/nodes/*/{mem_banks,io_links,p2p_links}/*/properties",
};

/// A path without links in it; nothing when it does not exist.
std::optional<std::string> real_path(const std::string& path) {
    const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), std::free);
    return real ? std::optional<std::string>(real.get()) : std::nullopt;
}

/// Takes path after path, each once.
class collection {
  public:
    explicit collection(std::string sys, std::string proc)
        : sys_(std::move(sys))
        , proc_(std::move(proc)) {}

    void take(const std::string& directory, const std::string& pattern) {
        for (const auto& path : matches(directory, pattern))
            take_path(path);
    }
    void take_path(const std::string& path) {
        const std::string name = name_of(path);
        if (name.empty() || entries_.contains(name))
            return;
        auto entry = read_path(path);
        if (!entry) {
            unreadable_.emplace(name, reason_of(entry.failure(), path));
            return;
        }
        if (name.ends_with("/config"))
            entry->content.resize(std::min(entry->content.size(), config_bytes));
        add(name, std::move(*entry));
    }
    void add(const std::string& name, archive_entry entry) {
        entry.path = name;
        entries_.emplace(name, std::move(entry));
    }
    void cannot_read(const std::string& name, const std::string& reason) { unreadable_.emplace(name, reason); }
    archive_entry* find(const std::string& name) {
        const auto found = entries_.find(name);
        return found == entries_.end() ? nullptr : &found->second;
    }
    /// "sys/..." or "proc/..."; empty for what lies elsewhere.
    [[nodiscard]] std::string name_of(const std::string& path) const {
        for (const auto& [root, name] : {std::pair{&sys_, "sys"}, {&proc_, "proc"}})
            if (path.starts_with(*root + "/"))
                return name + path.substr(root->size());
        return {};
    }
    node_files all() && {
        node_files files;
        for (auto& [name, entry] : entries_)
            files.entries.push_back(std::move(entry));
        for (auto& [name, reason] : unreadable_)
            files.unreadable.push_back({name, reason});
        return files;
    }

  private:
    std::string sys_, proc_;
    std::map<std::string, archive_entry> entries_;
    std::map<std::string, std::string> unreadable_;
};

/// The kernel addresses of modules, which root alone sees, are nobody's business.
std::string without_addresses(const std::string& modules) {
    std::string text;
    for (const auto& line : split(modules, '\n')) {
        const auto address = line.rfind(" 0x");
        if (!line.empty())
            text += line.substr(0, address) + (address == std::string::npos ? "" : " 0x0000000000000000") + "\n";
    }
    return text;
}

/// DRM devices: the link of each card and render node, what it points to, and the device behind that, which is no PCI
/// function for the second and later partitions of a GPU.
void take_drm(collection& into, const std::string& sys) {
    for (const auto& path : matches(sys + "/class/drm", "{card,renderD}*")) {
        into.take_path(path);
        const auto device = real_path(path);
        if (!device || into.name_of(*device).empty())
            continue;
        into.take_path(*device);
        if (device->find('-', device->rfind('/')) != std::string::npos)
            continue; // a connector of a card
        into.take(*device, drm_files);
        if (const auto parent = real_path(*device + "/device"); parent && !into.name_of(*parent).empty()) {
            into.take_path(*parent);
            into.take(*parent, "{uevent,driver,subsystem}");
        }
    }
}

/// Takes PCI functions; gives the directories of those that amdgpu drives.
std::vector<std::string> take_pci(collection& into, const std::string& sys) {
    std::vector<std::string> gpus;
    for (const auto& path : matches(sys + "/bus/pci/devices", "*")) {
        const auto device = real_path(path);
        if (!device || into.name_of(*device).empty())
            continue;
        into.take_path(path);
        into.take_path(*device);
        into.take(*device, pci_files);
        const auto driver = read_link(*device + "/driver");
        if (driver && driver->substr(driver->rfind('/') + 1) == "amdgpu")
            gpus.push_back(*device);
    }
    return gpus;
}

void take_gpu(collection& into, const std::string& directory, std::vector<std::string> reader, deadline until) {
    constexpr std::size_t output_limit = 32U << 20;
    reader.push_back(directory);
    const std::string name = into.name_of(directory);
    const auto child = run({std::move(reader), {"LC_ALL=C"}, std::nullopt, output_limit}, until);
    if (!child) {
        into.cannot_read(name, child.failure().what);
        return;
    }
    auto found = parse_gpu_files(child->output);
    for (auto& entry : found.entries) {
        const std::string path = name + "/" + entry.path;
        into.add(path, std::move(entry));
    }
    for (const auto& one : found.unreadable)
        into.cannot_read(name + "/" + one.path, one.reason);
    if (!child->succeeded())
        into.cannot_read(name, "the reader of its files " + child->text());
}

} // namespace

result<node_files> collect_node_files(const sysfs& where, const std::vector<std::string>& reader,
                                      std::chrono::milliseconds limit_per_gpu, deadline until) {
    const auto sys = real_path(where.sys);
    if (!sys)
        return error{error_code::not_found, where.sys + " cannot be read"};
    const std::string proc = real_path(where.proc).value_or(where.proc);
    collection all(*sys, proc);
    for (const char* pattern : sys_files)
        all.take(*sys, pattern);
    for (const char* pattern : proc_files)
        all.take(proc, pattern);
    if (auto* modules = all.find("proc/modules"))
        modules->content = without_addresses(modules->content);

    all.take(*sys, "class/kfd/kfd");
    if (const auto kfd = real_path(*sys + "/class/kfd/kfd")) {
        for (const char* pattern : kfd_files)
            all.take(*kfd, pattern);
    }
    take_drm(all, *sys);
    for (const auto& gpu : take_pci(all, *sys))
        take_gpu(all, gpu, reader, until.at_most(limit_per_gpu));
    return std::move(all).all();
}

} // namespace amd_gpu
