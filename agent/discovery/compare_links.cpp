// Links between GCDs, and of GCDs to the host. Products without xGMI have none of the former, and nothing is expected.
#include "discovery/compare_parts.hpp"
#include "discovery/products.hpp"

#include <fmt/format.h>
#include <map>
#include <tuple>

namespace amd_gpu {
namespace {

using severity = finding::severity;

/// Both ways if one way. Between partitions of different boards the driver tells a bandwidth in one direction or none.
void look_at_directions(const node& found, std::vector<finding>& findings) {
    for (const auto& l : found.links) {
        const auto& from = found.gcds[l.from];
        const auto& to = found.gcds[l.to];
        if (l.type != "xgmi" || from.partition || to.partition || find_link(found, l.to, l.from) != nullptr)
            continue;
        findings.push_back({severity::warning, "links", from.bdf,
                            fmt::format("{} has a link to {}, but not the other way", from.bdf.text(), to.bdf.text())});
    }
}

/// The dies of a package are always linked, whatever the board.
void look_at_packages(const node& found, std::vector<finding>& findings) {
    for (const auto& a : found.gcds) {
        for (const auto& b : found.gcds) {
            const bool one_package = a.index < b.index && a.package && a.package == b.package && a.bdf != b.bdf;
            if (!one_package || !a.kfd_node || !b.kfd_node || find_link(found, a.index, b.index) != nullptr ||
                find_link(found, b.index, a.index) != nullptr) {
                continue;
            }
            findings.push_back({severity::warning, "links", a.bdf,
                                fmt::format("{} and {} are dies of one package without a link between them",
                                            a.bdf.text(), b.bdf.text())});
        }
    }
}

/// The value that most members of a group have, the larger of two that are as frequent.
template<typename T>
T most_common(const std::map<T, std::size_t>& counts) {
    return std::max_element(
               counts.begin(), counts.end(),
               [](const auto& a, const auto& b) { return std::tie(a.second, a.first) < std::tie(b.second, b.first); })
        ->first;
}

/// In the machines that are built, GCDs of one product have as many direct peers each. One that has fewer is worth a
/// look, and no more: nothing says how this machine was built.
void look_at_peers(const node& found, std::vector<finding>& findings) {
    std::map<uint32_t, std::size_t> peers; // of a GCD
    for (const auto& l : found.links)
        peers[l.from] += l.type == "xgmi" ? 1 : 0;
    std::map<std::optional<uint32_t>, std::map<std::size_t, std::size_t>> frequency; // by product
    const auto counts = [](const gcd& g) { return g.kfd_node && !g.partition; };
    for (const auto& g : found.gcds) {
        if (counts(g))
            ++frequency[g.pci_device][peers[g.index]];
    }
    for (const auto& g : found.gcds) {
        if (!counts(g))
            continue;
        const auto usual = most_common(frequency[g.pci_device]);
        if (peers[g.index] >= usual)
            continue;
        findings.push_back({severity::note, "links", g.bdf,
                            fmt::format("{} has direct xGMI links to {} others, most of its product here have them "
                                        "to {}",
                                        g.bdf.text(), peers[g.index], usual)});
    }
}

/// Products whose packages are always linked with one another, and here none is. Cards that may or may not carry a
/// bridge are not asked for one, nor are partitions, of whose links the driver tells no bandwidth (Linux kfd_crat.c,
/// kfd_fill_gpu_xgmi_link_to_gpu).
void look_at_products(const node& found, std::vector<finding>& findings) {
    std::map<std::string, addresses> unlinked; // by model
    for (const auto& g : found.gcds) {
        const auto known = g.pci_device ? find_product(*g.pci_device, std::nullopt) : std::nullopt;
        if (known && known->xgmi && g.model && g.kind != gpu_kind::virtual_function && !g.partition)
            unlinked[*g.model].push_back(g.bdf);
    }
    for (const auto& l : found.links) {
        const auto& g = found.gcds[l.from];
        if (l.type == "xgmi" && g.bdf != found.gcds[l.to].bdf && g.model)
            unlinked.erase(*g.model);
    }
    for (const auto& [model, functions] : unlinked) {
        if (functions.size() < 2)
            continue;
        findings.push_back({severity::warning, "links", std::nullopt,
                            fmt::format("no xGMI link between any of {} {}, which are built with them; see the kernel "
                                        "log for xgmi",
                                        gpus(functions.size()), model)});
    }
}

} // namespace

void look_at_links(const node& found, std::vector<finding>& findings) {
    look_at_directions(found, findings);
    look_at_packages(found, findings);
    // A GCD that is away takes its links along; that it is away is said already.
    if (std::all_of(found.gcds.begin(), found.gcds.end(), [](const gcd& g) { return g.bound; })) {
        look_at_peers(found, findings);
        look_at_products(found, findings);
    }
}

void look_at_pcie(const std::vector<gcd>& gcds, std::vector<finding>& findings) {
    std::map<std::optional<uint32_t>, std::map<uint32_t, std::size_t>> widths; // by product, lanes -> GCDs
    for (const auto& g : gcds) {
        if (g.pcie_width)
            ++widths[g.pci_device][*g.pcie_width];
    }
    std::optional<pci_address> last; // partitions share their function's link
    for (const auto& g : gcds) {
        if (!g.pcie_width || g.bdf == last)
            continue;
        last = g.bdf;
        const auto usual = most_common(widths[g.pci_device]);
        if (*g.pcie_width >= usual)
            continue;
        findings.push_back(
            {severity::note, "pcie", g.bdf,
             fmt::format("{} has a PCIe link of {} lanes{}, most of its product here have {}; reseat it when the node "
                         "is free",
                         g.bdf.text(), *g.pcie_width,
                         g.pcie_gt_per_s ? fmt::format(" at {:g} GT/s", *g.pcie_gt_per_s) : "", usual)});
    }
}

} // namespace amd_gpu
