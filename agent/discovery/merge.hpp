// What the sources say, put together into one node: joined by PCI address, never by an index of any source. Pure: it
// sees only what the readers brought, so that every odd node can be a test.
#pragma once

#include "discovery/kfd.hpp"
#include "discovery/locality.hpp"
#include "discovery/pci.hpp"
#include "discovery/smi.hpp"
#include "node/node.hpp"

#include <optional>
#include <set>
#include <vector>

namespace amd_gpu {

/// The graphics unit of a processor beside discrete GPUs: display hardware, no place for a job. It is known by its
/// product or processor, never by the size of its memory, which MI300A may say to be zero. Takes such units out of
/// both views and says which they were. A node that has nothing else keeps them.
std::set<pci_address> leave_out_integrated(pci_view& pci, kfd_topology& kfd);

/// One GCD for every PCI function and, on partitioned dies, for every KFD node of it; in PCI order, with each fact's
/// source. The NUMA node is the one that PCI names until set_places.
std::vector<gcd> join(const pci_view& pci, const kfd_topology& kfd);

/// Takes over SMI's indices, and its unique ids where nothing else gave one. A function number that is not on the bus
/// is read as a partition of function 0: some versions write it so.
void set_smi(std::vector<gcd>& gcds, const smi_view& smi);

/// What to ask read_locality for these GCDs, and taking over its answer.
std::vector<locality_query> locality_queries(const std::vector<gcd>& gcds);
void set_places(std::vector<gcd>& gcds, const locality_view& view);

/// Direct links between GCDs. xGMI: an entry with a bandwidth; an entry without is a peer behind another one. Never
/// from hop counts, which are 1 for both. Drivers that give no bandwidth at all are read by weight, 15 for one hop.
std::vector<link> links_of(const kfd_topology& kfd, const std::vector<gcd>& gcds);

/// Numbers the packages, as far as the dies of a package can be known: by the product's number of dies and, where these
/// are two, by the links between them or their serial number; never by sensors that one of the dies lacks. Needs the
/// links. The package of a virtual function is the host's matter and stays unknown.
void set_packages(std::vector<gcd>& gcds, const std::vector<link>& links, const pci_view& pci);

} // namespace amd_gpu
