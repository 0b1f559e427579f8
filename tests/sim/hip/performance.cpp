// Modelled speeds.
#include "performance.hpp"

#include <algorithm>
#include <set>
#include <toml++/toml.h>

namespace sim::hip {
namespace {

/// A number in (0.99, 1] that is always the same for one GPU: no two of a kind are equally fast.
double individual(const gpu& device, std::uint64_t salt) {
    std::uint64_t value = device.unique_id ^ device.gpu_id ^ salt;
    value = (value ^ (value >> 33U)) * 0xff51afd7ed558ccdU;
    value = (value ^ (value >> 33U)) * 0xc4ceb9fe1a85ec53U;
    return 1.0 - static_cast<double>(value >> 40U) / static_cast<double>(1U << 24U) / 100.0;
}

double scale_of(const std::map<int, double>& scales, int gcd) {
    const auto found = scales.find(gcd);
    return found == scales.end() ? 1.0 : found->second;
}

} // namespace

figures read_figures(const std::string& path) {
    figures read;
    try {
        const toml::table model = toml::parse_file(path);
        const auto take = [&](const char* section, const char* key, double& into) {
            if (const auto value = model[section][key].value<double>(); value && *value > 0)
                into = *value;
        };
        take("performance", "hbm_gb_s", read.hbm_gb_s);
        take("performance", "fp64_tflops", read.fp64_tflops);
        take("performance", "link_gb_s", read.link_gb_s);
        take("performance", "pcie_gb_s", read.pcie_gb_s);
        take("performance", "launch_us", read.launch_us);
        take("xgmi", "mb_s_per_link", read.mb_s_per_link);
    } catch (const toml::parse_error&) {
        return read;
    }
    return read;
}

performance::performance(figures base, const topology& node, const std::vector<fault>& faults)
    : base_(base) {
    for (const link& link : node.links) {
        linked_[{link.from, link.to}] = true;
        if (link.xgmi && link.mb_s > 0)
            direct_[{link.from, link.to}] =
                base_.link_gb_s * std::max(1.0, static_cast<double>(link.mb_s) / base_.mb_s_per_link);
    }
    const auto node_of = [&](int gcd) {
        const auto found = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const gpu& g) { return g.gcd == gcd; });
        return found == node.gpus.end() ? -1 : found->node;
    };
    for (const fault& fault : faults) {
        if (fault.kind == "hbm")
            hbm_scale_[fault.gcd] = fault.number("scale", 1);
        else if (fault.kind == "clock")
            clock_scale_[fault.gcd] = fault.number("scale", 1);
        else if (fault.kind == "link") {
            const int one = node_of(fault.gcd);
            const int other = node_of(static_cast<int>(fault.number("to", -1)));
            for (const auto& pair : {std::pair(one, other), std::pair(other, one)}) {
                const auto found = direct_.find(pair);
                if (found != direct_.end() && (found->second *= fault.number("scale", 1)) <= 0)
                    direct_.erase(found);
            }
        }
    }
}

double performance::hbm_gb_s(const gpu& device) const {
    return base_.hbm_gb_s * scale_of(hbm_scale_, device.gcd) * individual(device, 1);
}

double performance::fp64_tflops(const gpu& device) const {
    return base_.fp64_tflops * scale_of(clock_scale_, device.gcd) * individual(device, 2);
}

double performance::direct(int from, int to) const {
    const auto found = direct_.find({from, to});
    return found == direct_.end() ? 0 : found->second;
}

double performance::link_gb_s(const gpu& from, const gpu& to) const {
    // Widest of the shortest routes: every step widens the front by one hop.
    std::map<int, double> front{{from.node, 1e9}};
    std::set<int> seen{from.node};
    while (!front.empty()) {
        if (const auto arrived = front.find(to.node); arrived != front.end())
            return arrived->second * individual(to, 3);
        std::map<int, double> next;
        for (const auto& [at, width] : front)
            for (const auto& [pair, speed] : direct_)
                if (pair.first == at && !seen.contains(pair.second))
                    next[pair.second] = std::max(next[pair.second], std::min(width, speed));
        for (const auto& [at, width] : next)
            seen.insert(at);
        front = std::move(next);
    }
    return base_.pcie_gb_s * individual(to, 3);
}

bool performance::reachable(const gpu& from, const gpu& to) const {
    return linked_.contains({from.node, to.node}) || linked_.contains({to.node, from.node});
}

} // namespace sim::hip
