// Reading KFD's topology.
#include "topology.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace sim::hip {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t capability_sramecc = 0x04000000; ///< HSA_CAP_SRAM_EDCSUPPORTED (Linux kfd_topology.h)
constexpr std::uint64_t link_type_xgmi = 11;             ///< CRAT_IOLINK_TYPE_XGMI (Linux kfd_crat.h)

std::vector<fs::path> numbered_entries(const fs::path& directory) {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(directory, ignored))
        found.push_back(entry.path());
    std::sort(found.begin(), found.end(), [](const fs::path& left, const fs::path& right) {
        return std::atoi(left.filename().c_str()) < std::atoi(right.filename().c_str());
    });
    return found;
}

std::string first_line(const fs::path& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

std::string as_bdf(std::uint64_t domain, std::uint64_t location) {
    char text[32];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", static_cast<unsigned>(domain & 0xffffU),
                  static_cast<unsigned>(location >> 8U & 0xffU), static_cast<unsigned>(location >> 3U & 0x1fU),
                  static_cast<unsigned>(location & 7U));
    return text;
}

/// Every AMD display or accelerator function on the bus, in PCI order, whether a driver claimed it or not.
std::vector<std::string> pci_gpus() {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator("/sys/bus/pci/devices", ignored)) {
        const std::string kind = first_line(entry.path() / "class");
        if (first_line(entry.path() / "vendor") == "0x1002" && (kind.starts_with("0x03") || kind.starts_with("0x12")))
            found.push_back(entry.path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

gpu read_gpu(const fs::path& node, std::uint64_t gpu_id) {
    auto properties = read_properties(node / "properties");
    gpu found;
    found.node = std::atoi(node.filename().c_str());
    found.gpu_id = gpu_id;
    found.bdf = as_bdf(properties["domain"], properties["location_id"]);
    found.name = first_line("/sys/bus/pci/devices/" + found.bdf + "/product_name");
    if (found.name.empty())
        found.name = first_line(node / "name");
    const std::uint64_t version = properties["gfx_target_version"];
    found.major = static_cast<int>(version / 10000);
    found.minor = static_cast<int>(version / 100 % 100);
    found.stepping = static_cast<int>(version % 100);
    char processor[32];
    std::snprintf(processor, sizeof processor, "gfx%d%d%x", found.major, found.minor,
                  static_cast<unsigned>(found.stepping));
    found.processor = processor;
    found.sramecc = (properties["capability"] & capability_sramecc) != 0;
    found.unique_id = properties["unique_id"];
    found.compute_units =
        static_cast<int>(properties["simd_count"] / std::max<std::uint64_t>(1, properties["simd_per_cu"]));
    found.wave_size = static_cast<int>(properties["wave_front_size"]);
    found.clock_khz = static_cast<int>(properties["max_engine_clk_fcompute"] * 1000);
    found.render_minor = static_cast<int>(properties["drm_render_minor"]);
    for (const fs::path& bank : numbered_entries(node / "mem_banks")) {
        auto memory = read_properties(bank / "properties");
        found.memory += memory["size_in_bytes"];
        found.memory_clock_khz = static_cast<int>(memory["mem_clk_max"] * 1000);
        found.memory_width = static_cast<int>(memory["width"]);
    }
    return found;
}

std::optional<std::size_t> named_by(const std::string& token, const std::vector<gpu>& all, bool uuids) {
    constexpr std::string_view prefix = "GPU-";
    if (uuids && token.starts_with(prefix)) {
        const std::string wanted = token.substr(prefix.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            char id[32];
            std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(all[i].unique_id));
            if (!wanted.empty() && std::string_view(id).starts_with(wanted))
                return i;
        }
        return std::nullopt;
    }
    std::size_t index = 0;
    const char* const end = token.data() + token.size();
    const auto parsed = std::from_chars(token.data(), end, index);
    return parsed.ec == std::errc() && parsed.ptr == end && index < all.size() ? std::optional(index) : std::nullopt;
}

bool may_open(const gpu& device) {
    const int file = open(("/dev/dri/renderD" + std::to_string(device.render_minor)).c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0)
        close(file);
    return file >= 0;
}

} // namespace

std::string gpu::target() const {
    std::string target = processor;
    const bool has_sramecc =
        processor == "gfx906" || processor == "gfx908" || processor == "gfx90a" || major * 10 + minor == 94;
    if (has_sramecc)
        target += sramecc ? ":sramecc+" : ":sramecc-";
    if (major == 9) {
        const char* const xnack = std::getenv("HSA_XNACK");
        target += xnack != nullptr && std::string_view(xnack) == "1" ? ":xnack+" : ":xnack-";
    }
    return target;
}

std::map<std::string, std::uint64_t> read_properties(const std::string& path) {
    std::map<std::string, std::uint64_t> found;
    std::ifstream file(path);
    std::string key;
    for (std::uint64_t value = 0; file >> key >> value;)
        found[key] = value;
    return found;
}

topology read_topology() {
    topology found;
    std::vector<std::string> in_order = pci_gpus();
    for (const fs::path& node : numbered_entries("/sys/class/kfd/kfd/topology/nodes")) {
        const std::uint64_t gpu_id = std::strtoull(first_line(node / "gpu_id").c_str(), nullptr, 10);
        if (gpu_id == 0)
            continue;
        found.gpus.push_back(read_gpu(node, gpu_id));
        for (const char* kind : {"io_links", "p2p_links"})
            for (const fs::path& entry : numbered_entries(node / kind)) {
                auto properties = read_properties(entry / "properties");
                found.links.push_back({static_cast<int>(properties["node_from"]),
                                       static_cast<int>(properties["node_to"]), properties["type"] == link_type_xgmi,
                                       properties["max_bandwidth"]});
            }
    }
    // A function has a place for each of its partitions, in the order of KFD's nodes, and one when it has no KFD node.
    for (const gpu& device : found.gpus)
        if (std::find(in_order.begin(), in_order.end(), device.bdf) == in_order.end())
            in_order.insert(std::lower_bound(in_order.begin(), in_order.end(), device.bdf), device.bdf);
    int place = 0;
    for (const std::string& bdf : in_order) {
        const int first = place;
        for (gpu& device : found.gpus)
            if (device.bdf == bdf)
                device.gcd = place++;
        place = std::max(place, first + 1);
    }
    return found;
}

std::vector<gpu> apply_mask(const std::vector<gpu>& all, const char* mask, bool uuids) {
    if (mask == nullptr)
        return all;
    std::vector<gpu> left;
    std::vector<std::size_t> taken;
    const std::string text = mask;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const auto index = named_by(text.substr(begin, end - begin), all, uuids);
        if (!index || std::find(taken.begin(), taken.end(), *index) != taken.end())
            break;
        taken.push_back(*index);
        left.push_back(all[*index]);
        begin = end + 1;
    }
    return left;
}

std::vector<gpu> visible(const std::vector<gpu>& all) {
    std::vector<gpu> open;
    std::copy_if(all.begin(), all.end(), std::back_inserter(open), may_open);
    const std::vector<gpu> left = apply_mask(open, std::getenv("ROCR_VISIBLE_DEVICES"), true);
    const char* mask = std::getenv("HIP_VISIBLE_DEVICES");
    if (mask == nullptr || *mask == '\0')
        mask = std::getenv("CUDA_VISIBLE_DEVICES");
    return apply_mask(left, mask, false);
}

} // namespace sim::hip
