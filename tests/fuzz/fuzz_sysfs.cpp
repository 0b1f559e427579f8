// Any text in the files of a GPU on PCI and of KFD's topology, one file after the other with a zero byte between: what
// discovery makes of them survives as JSON.
#include "discovery/compare.hpp"
#include "discovery/merge.hpp"
#include "node/json.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace {

const std::string device = "sys/bus/pci/devices/0000:c1:00.0/";
const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";

const std::array names = {
    nodes + "1/properties",
    nodes + "1/gpu_id",
    nodes + "1/mem_banks/0/properties",
    nodes + "1/io_links/0/properties",
    nodes + "1/p2p_links/0/properties",
    nodes + "2/properties",
    nodes + "2/gpu_id",
    nodes + "2/io_links/0/properties",
    device + "device",
    device + "numa_node",
    device + "unique_id",
    device + "serial_number",
    device + "product_name",
    device + "vbios_version",
    device + "mem_info_vram_total",
    device + "current_compute_partition",
    device + "current_memory_partition",
    device + "current_link_speed",
    device + "current_link_width",
};

/// The files, in a directory that goes with the process.
class files {
  public:
    files() {
        const bool memory = std::filesystem::is_directory("/dev/shm"); // some twenty files a run
        std::string name = std::string(memory ? "/dev/shm" : "/tmp") + "/amd-gpu-fuzz-XXXXXX";
        if (::mkdtemp(name.data()) == nullptr)
            throw std::runtime_error("no temporary directory");
        root_ = name + "/";
        for (const auto& each : names)
            std::filesystem::create_directories(std::filesystem::path(root_ + each).parent_path());
        write(device + "vendor", "0x1002\n");
        write(device + "class", "0x038000\n");
        std::filesystem::create_symlink("../../drivers/amdgpu", root_ + device + "driver");
    }
    ~files() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    files(const files&) = delete;
    files& operator=(const files&) = delete;

    void write(const std::string& name, std::string_view text) const {
        std::ofstream(root_ + name, std::ios::binary) << text;
    }
    void remove(const std::string& name) const { std::filesystem::remove(root_ + name); }
    [[nodiscard]] amd_gpu::sysfs where() const { return {root_ + "sys", root_ + "proc"}; }

  private:
    std::string root_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    static const files tree;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const auto& name : names) {
        const auto end = text.find('\0');
        if (end == std::string_view::npos && text.empty())
            tree.remove(name); // a file too few is one that the driver does not have
        else
            tree.write(name, text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }

    observations seen;
    seen.pci = read_pci(tree.where());
    seen.kfd = read_kfd(tree.where());
    seen.integrated = leave_out_integrated(seen.pci, seen.kfd);
    node found;
    found.gcds = join(seen.pci, seen.kfd);
    found.links = links_of(seen.kfd, found.gcds);
    set_packages(found.gcds, found.links, seen.pci);
    found.sources = count_gpus(seen);
    clear_shared_ids(found.gcds);
    found.findings = compare(seen, found, 2);
    const std::string json = json_text(found, true);
    const auto again = node_from_json(json);
    if (!again || json_text(*again, true) != json)
        std::abort();
    return 0;
}
