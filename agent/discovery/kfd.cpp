#include "discovery/kfd.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <tuple>

namespace amd_gpu {
namespace {

/// Linux kfd_topology.h, HSA_CAP_SRAM_EDCSUPPORTED: the error-correcting mode of the on-chip memories is on.
constexpr uint64_t capability_sramecc = 0x04000000;
/// Likewise, HSA_CAP_SVMAPI_SUPPORTED: the kernel was built with shared virtual memory for this GPU.
constexpr uint64_t capability_svm = 0x08000000;
/// Linux kfd_crat.h, HSA_MEM_HEAP_TYPE_FB_PUBLIC and _FB_PRIVATE: local memory with and without a window for the CPU.
constexpr uint64_t heap_local_public = 1;
constexpr uint64_t heap_local_private = 2;
/// Linux kfd_topology.c puts the partition's number into the top four bits of location_id.
constexpr unsigned partition_shift = 28;

std::string topology(const sysfs& where) {
    return where.sys + "/class/kfd/kfd/topology";
}

/// A file of "name value" lines. Lines without a value or with something that is no number are left out.
using properties = std::map<std::string, uint64_t, std::less<>>;

properties parse_properties(std::string_view text) {
    properties values;
    for (const auto& line : split(text, '\n')) {
        const auto space = line.find(' ');
        if (space == std::string::npos)
            continue;
        if (const auto number = parse_number(trimmed(std::string_view(line).substr(space + 1)))) {
            values[line.substr(0, space)] = *number;
        }
    }
    return values;
}

properties read_properties(const std::string& path) {
    const auto text = read_file(path);
    return text ? parse_properties(*text) : properties{};
}

std::optional<uint64_t> value_of(const properties& values, std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
}

/// The same where 0 and all-ones are what the driver writes for "none".
std::optional<uint64_t> real_value_of(const properties& values, std::string_view name) {
    const auto value = value_of(values, name);
    if (!value || *value == 0 || *value == UINT64_MAX)
        return std::nullopt;
    return value;
}

std::optional<uint32_t> real_value32_of(const properties& values, std::string_view name) {
    const auto value = real_value_of(values, name);
    if (!value || *value >= UINT32_MAX)
        return std::nullopt;
    return static_cast<uint32_t>(*value);
}

std::optional<target_id> target_of(const properties& values) {
    const auto version = real_value32_of(values, "gfx_target_version");
    const auto name = version ? processor_from_kfd(*version) : std::nullopt;
    if (!name)
        return std::nullopt;
    target_id target{*name};
    const processor* known = find_processor(*name);
    const auto capability = value_of(values, "capability");
    // The bit means something only for processors that have the mode at all.
    if (known != nullptr && known->has_sramecc && capability) {
        target.sramecc = (*capability & capability_sramecc) != 0 ? feature_mode::on : feature_mode::off;
    }
    return target;
}

/// The parameter noretry of the loaded driver.
std::optional<int64_t> noretry_of(const sysfs& where) {
    const auto text = read_line(where.sys + "/module/amdgpu/parameters/noretry");
    if (text == "-1")
        return -1;
    if (text == "0" || text == "1")
        return *text == "1" ? 1 : 0;
    return std::nullopt;
}

std::optional<uint32_t> compute_units_of(const properties& values) {
    const auto simds = real_value32_of(values, "simd_count");
    const auto simds_per_unit = real_value32_of(values, "simd_per_cu");
    if (!simds || !simds_per_unit)
        return std::nullopt;
    return *simds / *simds_per_unit;
}

std::optional<uint64_t> local_memory(const std::string& banks) {
    uint64_t bytes = 0;
    for (const auto& bank : list_directory(banks)) {
        const auto values = read_properties(banks + "/" + bank + "/properties");
        const auto heap = value_of(values, "heap_type");
        const auto size = real_value_of(values, "size_in_bytes");
        if (size && heap && (*heap == heap_local_public || *heap == heap_local_private))
            bytes += *size;
    }
    return bytes == 0 ? std::nullopt : std::optional(bytes);
}

void read_links(const std::string& directory, std::vector<kfd_link>& links) {
    for (const auto& entry : list_directory(directory)) {
        const auto values = read_properties(directory + "/" + entry + "/properties");
        const auto to = value_of(values, "node_to");
        const auto type = value_of(values, "type");
        if (!to || !type)
            continue;
        links.push_back({static_cast<uint32_t>(*to), static_cast<uint32_t>(*type), value_of(values, "weight"),
                         value_of(values, "min_bandwidth"), value_of(values, "max_bandwidth")});
    }
}

/// Partitions of one PCI function differ in the number that their location carries; a die that is not partitioned has
/// none, whatever the bits say. Kernels that leave the bits out are read by order: the driver adds the nodes of a
/// function in the order of its partitions. Takes the devices in order of address, bits and node.
void keep_real_partitions(std::vector<kfd_device>& devices) {
    std::map<pci_address, std::vector<kfd_device*>> nodes_at;
    for (auto& device : devices)
        nodes_at[device.bdf].push_back(&device);
    for (auto& [bdf, nodes] : nodes_at) {
        if (nodes.size() == 1) {
            nodes.front()->partition.reset();
            continue;
        }
        const bool told_apart =
            std::adjacent_find(nodes.begin(), nodes.end(), [](const kfd_device* a, const kfd_device* b) {
                return a->partition == b->partition;
            }) == nodes.end();
        if (told_apart)
            continue;
        std::sort(nodes.begin(), nodes.end(),
                  [](const kfd_device* a, const kfd_device* b) { return a->node < b->node; });
        for (uint32_t number = 0; auto* device : nodes)
            device->partition = number++;
    }
}

} // namespace

kfd_topology read_kfd(const sysfs& where) {
    kfd_topology found;
    const std::string nodes = topology(where) + "/nodes";
    const auto names = list_directory(nodes);
    found.present = !names.empty();
    found.noretry = noretry_of(where);

    for (const auto& name : names) {
        const auto number = parse_number(name);
        if (!number)
            continue;
        const std::string directory = nodes + "/" + name;
        const auto text = read_file(directory + "/properties");
        if (!text && text.failure().code == error_code::permission) {
            ++found.hidden;
            continue;
        }
        const auto values = text ? parse_properties(*text) : properties{};
        const auto gpu_id = read_number(directory + "/gpu_id");
        if (gpu_id == 0U)
            continue; // a CPU
        if (!gpu_id) {
            // A node that has no GPU id and no SIMD is no GPU either; one that has SIMDs is, and is in trouble.
            if (real_value_of(values, "simd_count"))
                found.problems.push_back(fmt::format("KFD node {} has no readable gpu_id", name));
            continue;
        }
        const auto location = value_of(values, "location_id");
        const auto domain = value_of(values, "domain");
        if (!location || !domain) {
            found.problems.push_back(
                fmt::format("KFD node {} (gpu_id {}) does not say its PCI address", name, *gpu_id));
            continue;
        }

        kfd_device device;
        device.node = static_cast<uint32_t>(*number);
        device.gpu_id = static_cast<uint32_t>(*gpu_id);
        device.bdf = pci_address::from_id(*domain, *location);
        device.partition = static_cast<uint32_t>(*location >> partition_shift & 0xf);
        device.target = target_of(values);
        if (const auto capability = value_of(values, "capability"))
            device.shared_virtual_memory = (*capability & capability_svm) != 0;
        device.memory_bytes = local_memory(directory + "/mem_banks");
        device.compute_units = compute_units_of(values);
        device.xccs = real_value32_of(values, "num_xcc");
        device.max_clock_mhz = real_value32_of(values, "max_engine_clk_fcompute");
        device.unique_id = real_value_of(values, "unique_id");
        device.hive = real_value_of(values, "hive_id");
        device.render_minor = real_value32_of(values, "drm_render_minor");
        read_links(directory + "/io_links", device.links);
        read_links(directory + "/p2p_links", device.links);
        found.devices.push_back(std::move(device));
    }

    std::sort(found.devices.begin(), found.devices.end(), [](const kfd_device& a, const kfd_device& b) {
        return std::tie(a.bdf, a.partition, a.node) < std::tie(b.bdf, b.partition, b.node);
    });
    keep_real_partitions(found.devices);
    std::sort(found.devices.begin(), found.devices.end(), [](const kfd_device& a, const kfd_device& b) {
        return std::tie(a.bdf, a.partition, a.node) < std::tie(b.bdf, b.partition, b.node);
    });
    return found;
}

std::optional<std::string> kfd_generation(const sysfs& where) {
    return read_line(topology(where) + "/generation_id");
}

} // namespace amd_gpu
