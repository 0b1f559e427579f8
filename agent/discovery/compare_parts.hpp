// The parts of compare(), one file for each kind of question, and the words that they share. Every part appends to a
// list of findings and knows nothing of the other parts.
#pragma once

#include "discovery/compare.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace amd_gpu {

using addresses = std::vector<pci_address>;

/// "1 GPU", "8 GPUs"
std::string gpus(std::size_t count);
/// Addresses or ids, separated by spaces.
std::string text_of(const addresses& list);
std::string text_of(const std::vector<gcd_id>& list);
/// A finding about some functions; it carries the address when there is just one.
finding about(finding::severity level, const char* check, const addresses& devices, std::string text);

/// The functions of the devices that a predicate chooses, each once, in the order of the devices.
template<typename Devices, typename Predicate>
addresses functions_of(const Devices& devices, Predicate wanted) {
    addresses chosen;
    for (const auto& device : devices) {
        if (wanted(device) && std::find(chosen.begin(), chosen.end(), device.bdf) == chosen.end())
            chosen.push_back(device.bdf);
    }
    return chosen;
}

/// What must be done about a GPU that the driver does not take: restarting the node does not mend such a board.
inline constexpr const char* unbound_remedy = "see the kernel log, power cycle the node, then suspect the hardware";

/// compare_counts.cpp: the bus against the driver, the driver against SMI, all against the site's number.
void compare_pci_with_kfd(const observations& seen, std::vector<finding>& findings);
void compare_kfd_with_pci(const observations& seen, std::vector<finding>& findings);
void compare_with_smi(const observations& seen, const std::vector<gcd>& gcds, std::vector<finding>& findings);
void compare_with_expected(const observations& seen, const std::vector<gcd>& gcds, std::optional<uint32_t> expected,
                           std::vector<finding>& findings);

/// compare_modes.cpp: partition modes, processors and xnack modes that differ within the node.
void look_at_partitions(const std::vector<gcd>& gcds, std::vector<finding>& findings);
void look_at_targets(const std::vector<gcd>& gcds, std::vector<finding>& findings);

/// compare_links.cpp: links between GCDs, and to the host.
void look_at_links(const node& found, std::vector<finding>& findings);
void look_at_pcie(const std::vector<gcd>& gcds, std::vector<finding>& findings);

} // namespace amd_gpu
