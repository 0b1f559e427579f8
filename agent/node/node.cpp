// PCI addresses and the small questions that people ask of a node. Pure: text and numbers only.
#include "node/node.hpp"

#include "ranges.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

/// Reads a hexadecimal field of 1 to `digits` digits that fills the whole text.
std::optional<uint32_t> hex_field(std::string_view text, std::size_t digits) {
    if (text.empty() || text.size() > digits)
        return std::nullopt;
    uint32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

} // namespace

std::string pci_address::text() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

pci_address pci_address::from_id(uint64_t domain, uint64_t id) {
    return {static_cast<uint32_t>(domain), static_cast<uint32_t>(id >> 8 & 0xff), static_cast<uint32_t>(id >> 3 & 0x1f),
            static_cast<uint32_t>(id & 0x7)};
}

std::optional<pci_address> pci_address::parse(std::string_view text) {
    const auto dot = text.rfind('.');
    const auto colon = text.rfind(':');
    if (dot == std::string_view::npos || colon == std::string_view::npos || dot < colon)
        return std::nullopt;

    std::string_view domain = "0";
    std::string_view bus = text.substr(0, colon);
    if (const auto first = bus.find(':'); first != std::string_view::npos) {
        domain = bus.substr(0, first);
        bus = bus.substr(first + 1);
    }
    // Domains can be wider than four digits (Linux gives 10000 and up to devices behind Intel VMD).
    const auto d = hex_field(domain, 8);
    const auto b = hex_field(bus, 2);
    const auto v = hex_field(text.substr(colon + 1, dot - colon - 1), 2);
    const auto f = hex_field(text.substr(dot + 1), 1);
    if (!d || !b || !v || !f || *v > 0x1f || *f > 7)
        return std::nullopt;
    return pci_address{*d, *b, *v, *f};
}

std::string gcd_id::text() const {
    return partition ? fmt::format("{}/{}", bdf.text(), *partition) : bdf.text();
}

std::optional<gcd_id> gcd_id::parse(std::string_view text) {
    const auto slash = text.find('/');
    const auto function = pci_address::parse(text.substr(0, slash));
    if (!function)
        return std::nullopt;
    if (slash == std::string_view::npos)
        return gcd_id(*function);
    const auto number = parse_decimal(text.substr(slash + 1));
    if (!number)
        return std::nullopt;
    return gcd_id(*function, *number);
}

std::optional<target_id> gcd::default_target() const {
    auto mode = target;
    if (mode && xnack)
        mode->xnack = *xnack ? feature_mode::on : feature_mode::off;
    return mode;
}

const gcd* find_gcd(const node& where, const gcd_id& id) {
    const auto found =
        std::find_if(where.gcds.begin(), where.gcds.end(), [&](const gcd& die) { return die.id() == id; });
    return found == where.gcds.end() ? nullptr : &*found;
}

std::optional<uint32_t> runtime_position(const node& where, const gcd& die) {
    if (!die.kfd_node)
        return std::nullopt;
    return static_cast<uint32_t>(std::count_if(where.gcds.begin(), where.gcds.end(), [&](const gcd& other) {
        return other.kfd_node && *other.kfd_node < *die.kfd_node;
    }));
}

const link* find_link(const node& where, uint32_t from, uint32_t to) {
    const auto found = std::find_if(where.links.begin(), where.links.end(),
                                    [&](const link& l) { return l.from == from && l.to == to; });
    return found == where.links.end() ? nullptr : &*found;
}

std::string_view text_of(finding::severity level) {
    switch (level) {
    case finding::severity::note:
        return "note";
    case finding::severity::warning:
        return "warning";
    case finding::severity::fault:
        return "fault";
    }
    return "fault";
}

std::string_view text_of(gpu_kind kind) {
    switch (kind) {
    case gpu_kind::discrete:
        return "gpu";
    case gpu_kind::apu:
        return "apu";
    case gpu_kind::integrated:
        return "integrated";
    case gpu_kind::virtual_function:
        return "vf";
    }
    return "gpu";
}

} // namespace amd_gpu
