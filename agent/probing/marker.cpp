#include "probing/marker.hpp"

#include "system/files.hpp"

#include <unistd.h>

namespace amd_gpu {

status probe_markers::set(const std::vector<pci_address>& bdfs) const {
    if (const auto made = make_directories(directory_, 0755); !made)
        return made;
    for (const auto& bdf : bdfs)
        if (const auto written = write_file_atomically(path(bdf), boot_ + "\n", 0644); !written)
            return written;
    return success();
}

void probe_markers::clear(const std::vector<pci_address>& bdfs) const {
    for (const auto& bdf : bdfs)
        ::unlink(path(bdf).c_str());
}

std::vector<pci_address> probe_markers::unfinished(const std::vector<pci_address>& bdfs) const {
    std::vector<pci_address> left;
    for (const auto& bdf : bdfs)
        if (const auto boot = read_line(path(bdf)); boot && *boot != boot_)
            left.push_back(bdf);
    return left;
}

} // namespace amd_gpu
