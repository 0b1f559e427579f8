#include "discovery/discover.hpp"

#include "discovery/compare.hpp"
#include "system/files.hpp"
#include "system/host.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

std::string boot_id(const sysfs& where) {
    return read_line(where.proc + "/sys/kernel/random/boot_id").value_or("");
}

/// The library that the site names, else the one that the environment names, else the known names.
std::string smi_library(const settings& site) {
    if (!site.smi_library.empty())
        return site.smi_library;
    const char* named = std::getenv("ROCM_SMI_LIB_PATH");
    return named != nullptr ? named : "";
}

} // namespace

result<node> discover(const settings& site, deadline until, const sysfs& where,
                      const std::vector<std::string>& reader) {
    if (::access(where.sys.c_str(), R_OK | X_OK) != 0)
        return error{error_code::not_found, where.sys + " cannot be read"};

    observations seen;
    seen.driver = read_driver(where);
    seen.pci = read_pci(where);
    seen.kfd = read_kfd(where);
    seen.integrated = leave_out_integrated(seen.pci, seen.kfd);

    if (std::any_of(seen.pci.gpus.begin(), seen.pci.gpus.end(), [](const pci_gpu& gpu) { return !gpu.driver; }))
        seen.refusals = read_probe_errors(where);

    node found;
    found.name = host_name();
    found.boot_id = boot_id(where);
    found.gcds = join(seen.pci, seen.kfd);
    found.links = links_of(seen.kfd, found.gcds);
    set_packages(found.gcds, found.links, seen.pci);

    // On a node without AMD GPUs there is nothing to ask about, and a library that cannot start there is no news.
    if (!found.gcds.empty()) {
        seen.smi = ask_smi(reader.empty() ? smi_reader(smi_library(site)) : reader, until.at_most(until.left() / 2));
        if (*seen.smi)
            set_smi(found.gcds, **seen.smi);
        else
            seen.smi_locks = smi_locks(where);
        seen.locality = read_locality(locality_queries(found.gcds));
        if (*seen.locality)
            set_places(found.gcds, **seen.locality);
    }

    found.sources = count_gpus(seen);
    found.findings = clear_shared_ids(found.gcds);
    found.findings = compare(seen, found, site.expected_gcds);

    if (!seen.driver.kernel.empty())
        found.versions["kernel"] = seen.driver.kernel;
    if (const auto driver = seen.driver.text())
        found.versions["driver"] = *driver;
    if (seen.smi && *seen.smi && !(*seen.smi)->version.empty())
        found.versions["smi"] = (*seen.smi)->version;
    if (seen.locality && *seen.locality)
        found.versions["hwloc"] = (*seen.locality)->version;
    return found;
}

std::string topology_generation(const sysfs& where) {
    return fmt::format("{} driver={} kfd={} {}", boot_id(where), driver_instance(where).value_or(0),
                       kfd_generation(where).value_or("none"), pci_summary(where));
}

} // namespace amd_gpu
