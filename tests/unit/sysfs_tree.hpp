// A small /sys and /proc in a directory of its own, written by a test and removed with it. Formats are those of
// Linux 6.x.
#pragma once

#include "discovery/sysfs.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace test {

class sysfs_tree {
  public:
    sysfs_tree() {
        char name[] = "/tmp/amd-gpu-tree-XXXXXX";
        root_ = ::mkdtemp(name);
        std::filesystem::create_directories(root_ + "/sys/bus/pci/devices");
        write("proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
        write("proc/sys/kernel/osrelease", "6.6.0-test\n");
    }
    ~sysfs_tree() { std::filesystem::remove_all(root_); }
    sysfs_tree(const sysfs_tree&) = delete;
    sysfs_tree& operator=(const sysfs_tree&) = delete;

    [[nodiscard]] amd_gpu::sysfs where() const { return {root_ + "/sys", root_ + "/proc"}; }
    [[nodiscard]] std::string path(const std::string& name) const { return root_ + "/" + name; }

    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        std::ofstream(path(name)) << text;
    }
    void remove(const std::string& name) const { std::filesystem::remove_all(path(name)); }

    /// A PCI function; `driver` may be empty.
    void pci(const std::string& bdf, const std::string& vendor, const std::string& device, const std::string& type,
             const std::string& driver, int numa = 0) const {
        const std::string directory = "sys/bus/pci/devices/" + bdf;
        write(directory + "/vendor", vendor + "\n");
        write(directory + "/device", device + "\n");
        write(directory + "/class", type + "\n");
        write(directory + "/numa_node", std::to_string(numa) + "\n");
        write(directory + "/current_link_speed", "16.0 GT/s PCIe\n");
        write(directory + "/current_link_width", "16\n");
        if (!driver.empty())
            std::filesystem::create_symlink("../../../../bus/pci/drivers/" + driver, path(directory + "/driver"));
    }

    /// A KFD node of a CPU.
    void kfd_cpu(int number) const {
        const std::string directory = kfd(number);
        write(directory + "/gpu_id", "0\n");
        write(directory + "/properties",
              "cpu_cores_count 16\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\ndomain 0\n");
    }

    /// A KFD node of a GPU of `simds` SIMDs at `location` (bus << 8 | device << 3 | function).
    void kfd_gpu(int number, unsigned gpu_id, unsigned long location, unsigned version,
                 unsigned capability = 0x14000000, const std::string& more = "") const {
        const std::string directory = kfd(number);
        write(directory + "/gpu_id", std::to_string(gpu_id) + "\n");
        write(directory + "/properties", "cpu_cores_count 0\nsimd_count 440\nsimd_per_cu 4\ngfx_target_version " +
                                             std::to_string(version) + "\nlocation_id " + std::to_string(location) +
                                             "\ndomain 0\ndrm_render_minor " + std::to_string(127 + number) +
                                             "\nmax_engine_clk_fcompute 1700\ncapability " +
                                             std::to_string(capability) + "\n" + more);
        write(directory + "/mem_banks/0/properties",
              "heap_type 1\nsize_in_bytes 68702699520\nflags 0\nwidth 4096\nmem_clk_max 1600\n");
    }

    /// An entry of a node's io_links.
    void io_link(int from, int to, unsigned type, unsigned weight, unsigned long low, unsigned long high) const {
        write(kfd(from) + "/io_links/" + std::to_string(to) + "/properties",
              "type " + std::to_string(type) + "\nversion_major 0\nnode_from " + std::to_string(from) + "\nnode_to " +
                  std::to_string(to) + "\nweight " + std::to_string(weight) + "\nmin_bandwidth " + std::to_string(low) +
                  "\nmax_bandwidth " + std::to_string(high) + "\nflags 1\n");
    }

    static std::string kfd(int number) { return "sys/class/kfd/kfd/topology/nodes/" + std::to_string(number); }
    static std::string pci_file(const std::string& bdf, const std::string& name) {
        return "sys/bus/pci/devices/" + bdf + "/" + name;
    }

  private:
    std::string root_;
};

/// Two dies of one MI250X package beside a server's console: four xGMI links between them, one NUMA node.
class two_dies : public sysfs_tree {
  public:
    two_dies() {
        pci("0000:03:00.0", "0x1a03", "0x2000", "0x030000", "ast");
        for (const std::string bdf : {"0000:c1:00.0", "0000:c6:00.0"})
            pci(bdf, "0x1002", "0x7408", "0x038000", "amdgpu", 3);
        write(pci_file("0000:c1:00.0", "unique_id"), "1a2b3c4d5e6f7081\n");
        write(pci_file("0000:c6:00.0", "unique_id"), "1a2b3c4d5e6f7082\n");
        write(pci_file("0000:c1:00.0", "product_name"), "AMD Instinct MI250X\n");
        write("sys/class/kfd/kfd/topology/generation_id", "3\n");
        kfd_cpu(0);
        kfd_gpu(1, 51110, 0xc100, 90010, 0x14000000, "hive_id 77\n");
        kfd_gpu(2, 51111, 0xc600, 90010, 0x14000000, "hive_id 77\n");
        io_link(1, 0, 11, 15, 50000, 50000);
        io_link(1, 2, 11, 15, 50000, 200000);
        io_link(2, 1, 11, 15, 50000, 200000);
    }
};

} // namespace test
