#include "probing/marker.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <unistd.h>

namespace amd_gpu {

std::string probe_markers::path(const gcd_id& bdf) const {
    std::string name = bdf.text();
    std::replace(name.begin(), name.end(), '/', '-');
    return directory_ + "/probing-" + name;
}

status probe_markers::set(const std::vector<gcd_id>& bdfs) const {
    if (const auto made = make_directories(directory_, 0755); !made)
        return made;
    for (const auto& bdf : bdfs)
        if (const auto written = write_file_atomically(path(bdf), boot_ + "\n", 0644); !written)
            return written;
    return success();
}

void probe_markers::clear(const std::vector<gcd_id>& bdfs) const {
    for (const auto& bdf : bdfs)
        ::unlink(path(bdf).c_str());
}

void probe_markers::clear_own() const {
    for (const auto& name : list_directory(directory_)) {
        const std::string file = directory_ + "/" + name;
        if (name.starts_with("probing-") && read_line(file).value_or(boot_) == boot_)
            ::unlink(file.c_str()); // an empty one was being written
    }
}

std::vector<gcd_id> probe_markers::unfinished(const std::vector<gcd_id>& bdfs) const {
    std::vector<gcd_id> left;
    for (const auto& bdf : bdfs)
        if (const auto boot = read_line(path(bdf)); boot && *boot != boot_)
            left.push_back(bdf);
    return left;
}

} // namespace amd_gpu
