#include "discovery/pci.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

namespace amd_gpu {
namespace {

constexpr uint64_t vendor_amd = 0x1002;
/// PCI base classes (pci.ids): display controller, processing accelerator.
constexpr uint64_t class_display = 0x03;
constexpr uint64_t class_accelerator = 0x12;
/// Consoles on server boards that carry AMD's vendor id: ES1000, RV100, Rage XL (pci.ids).
constexpr std::array<uint64_t, 3> consoles = {0x515e, 0x5159, 0x4752};

std::string devices_directory(const sysfs& where) {
    return where.sys + "/bus/pci/devices";
}

std::optional<uint32_t> narrow(const std::optional<uint64_t>& value) {
    if (!value || *value >= UINT32_MAX)
        return std::nullopt;
    return static_cast<uint32_t>(*value);
}

/// A 64-bit identity in hexadecimal without a prefix. Zero and all-ones are what broken firmware gives.
std::optional<uint64_t> read_unique_id(const std::string& path) {
    const auto line = read_line(path);
    if (!line || line->size() > 16)
        return std::nullopt;
    uint64_t value = 0;
    const auto [end, failure] = std::from_chars(line->data(), line->data() + line->size(), value, 16);
    if (failure != std::errc() || end != line->data() + line->size() || value == 0 || value == UINT64_MAX) {
        return std::nullopt;
    }
    return value;
}

/// Text that says something: not empty, not a placeholder.
std::optional<std::string> read_name(const std::string& path) {
    auto line = read_line(path);
    if (!line || *line == "N/A" || line->find_first_not_of("0") == std::string::npos)
        return std::nullopt;
    return line;
}

/// The modes that the driver names (Linux amdgpu_gfx.c, amdgpu_gmc.c); while it switches it says UNKNOWN.
constexpr std::array<std::string_view, 5> compute_modes = {"SPX", "DPX", "TPX", "QPX", "CPX"};
constexpr std::array<std::string_view, 4> memory_modes = {"NPS1", "NPS2", "NPS4", "NPS8"};

template<typename Modes>
std::optional<std::string> read_mode(const std::string& path, const Modes& modes) {
    const auto line = read_line(path);
    if (!line || std::find(modes.begin(), modes.end(), *line) == modes.end())
        return std::nullopt;
    return *line;
}

std::optional<uint64_t> read_bytes(const std::string& path) {
    const auto bytes = read_number(path);
    return bytes && *bytes != 0 && *bytes != UINT64_MAX ? bytes : std::nullopt;
}

/// "16.0 GT/s PCIe" is 16; "Unknown" and a dead link's text are unknown.
std::optional<double> read_link_speed(const std::string& path) {
    const auto line = read_line(path);
    if (!line)
        return std::nullopt;
    double value = 0;
    const auto [end, failure] = std::from_chars(line->data(), line->data() + line->size(), value);
    if (failure != std::errc() || value <= 0 || !std::string_view(end).starts_with(" GT/s"))
        return std::nullopt;
    return value;
}

/// PCIe links have 1 to 32 lanes; a device that fell off the bus answers with ones (63 or 255).
std::optional<uint32_t> read_link_width(const std::string& path) {
    const auto value = narrow(read_number(path));
    if (!value || *value == 0 || *value > 32)
        return std::nullopt;
    return value;
}

/// N of the "renderDN" in the device's drm directory.
std::optional<uint32_t> render_minor(const std::string& directory) {
    constexpr std::string_view prefix = "renderD";
    for (const auto& name : list_directory(directory + "/drm")) {
        if (name.starts_with(prefix))
            return narrow(parse_number(std::string_view(name).substr(prefix.size())));
    }
    return std::nullopt;
}

/// Versions of the loaded firmware (Linux amdgpu_ucode.c, directory fw_version); zero is a part without firmware.
std::map<std::string, std::string> firmware_of(const std::string& directory) {
    constexpr std::string_view suffix = "_fw_version";
    std::map<std::string, std::string> versions;
    for (const auto& name : list_directory(directory + "/fw_version")) {
        const auto version = read_line(directory + "/fw_version/" + name);
        const auto number = version ? parse_number(*version) : std::nullopt;
        if (number && *number != 0 && *number != UINT32_MAX && name.ends_with(suffix))
            versions[name.substr(0, name.size() - suffix.size())] = *version;
    }
    return versions;
}

/// The directory of the PCI port above a device whose real directory this is; nothing at the root.
std::optional<std::filesystem::path> port_above(const std::filesystem::path& device) {
    auto above = device.parent_path();
    return pci_address::parse(above.filename().string()) ? std::optional(above) : std::nullopt;
}

/// Some boards have a PCIe switch of their own, whose link to the GPU says nothing about the slot. Its ports carry
/// AMD's graphics vendor id, which no port of a host does (Linux amdgpu_device.c, amdgpu_device_partner_bandwidth). The
/// port that faces the slot is the topmost of them.
std::optional<std::filesystem::path> port_to_slot(const std::string& directory) {
    std::error_code failure;
    auto at = std::filesystem::canonical(directory, failure);
    std::optional<std::filesystem::path> port;
    while (!failure) {
        const auto above = port_above(at);
        if (!above || read_number(*above / "vendor") != vendor_amd)
            break;
        port = at = *above;
    }
    return port;
}

std::optional<std::string> driver_of(const std::string& directory) {
    const auto target = read_link(directory + "/driver");
    if (!target)
        return std::nullopt;
    return target->substr(target->rfind('/') + 1);
}

bool is_amd_gpu(const std::string& directory) {
    if (read_number(directory + "/vendor") != vendor_amd)
        return false;
    const auto base_class = read_number(directory + "/class").value_or(0) >> 16;
    if (base_class != class_display && base_class != class_accelerator)
        return false;
    const auto device = read_number(directory + "/device");
    return !device || std::find(consoles.begin(), consoles.end(), *device) == consoles.end();
}

/// Calls `use` for every AMD GPU on the bus, in PCI order.
template<typename F>
void for_each_gpu(const std::vector<std::string>& names, const std::string& devices, F use) {
    std::vector<std::pair<pci_address, std::string>> found;
    for (const auto& name : names) {
        const auto bdf = pci_address::parse(name);
        if (bdf && is_amd_gpu(devices + "/" + name))
            found.emplace_back(*bdf, devices + "/" + name);
    }
    std::sort(found.begin(), found.end());
    for (const auto& [bdf, directory] : found)
        use(bdf, directory);
}

} // namespace

pci_view read_pci(const sysfs& where) {
    const std::string devices = devices_directory(where);
    const auto names = list_directory(devices);
    pci_view view;
    view.readable = !names.empty();
    for_each_gpu(names, devices, [&](const pci_address& bdf, const std::string& directory) {
        pci_gpu gpu;
        gpu.bdf = bdf;
        gpu.device = narrow(read_number(directory + "/device"));
        gpu.driver = driver_of(directory);
        gpu.virtual_function = read_link(directory + "/physfn").has_value();
        gpu.numa = narrow(read_number(directory + "/numa_node")); // "-1" is no unsigned number
        gpu.unique_id = read_unique_id(directory + "/unique_id");
        gpu.product = read_name(directory + "/product_name");
        gpu.serial = read_name(directory + "/serial_number");
        gpu.render_minor = render_minor(directory);
        gpu.vram_bytes = read_bytes(directory + "/mem_info_vram_total");
        gpu.vbios = read_name(directory + "/vbios_version");
        gpu.compute_partition = read_mode(directory + "/current_compute_partition", compute_modes);
        gpu.memory_partition = read_mode(directory + "/current_memory_partition", memory_modes);
        gpu.firmware = firmware_of(directory);
        const auto port = port_to_slot(directory);
        if (port)
            gpu.slot_port = pci_address::parse(port->filename().string());
        const std::string hop = port ? port->string() : directory;
        gpu.gt_per_s = read_link_speed(hop + "/current_link_speed");
        gpu.width = read_link_width(hop + "/current_link_width");
        view.gpus.push_back(std::move(gpu));
    });
    return view;
}

std::string pci_summary(const sysfs& where) {
    const std::string devices = devices_directory(where);
    std::string text;
    for_each_gpu(list_directory(devices), devices, [&](const pci_address& bdf, const std::string& directory) {
        text += bdf.text() + '=' + driver_of(directory).value_or("");
        if (const auto mode = read_mode(directory + "/current_compute_partition", compute_modes))
            text += '/' + *mode;
        if (const auto mode = read_mode(directory + "/current_memory_partition", memory_modes))
            text += '/' + *mode;
        text += ' ';
    });
    return text;
}

} // namespace amd_gpu
