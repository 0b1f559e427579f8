// How fast the GPUs of the model are, faults included: figures from the model's file, link by link. It computes times
// and measures nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/faults.hpp"
#include "topology.hpp"

namespace sim::hip {

constexpr const char* model_path = "/run/amd-gpu-sim/model.toml";
constexpr const char* faults_path = "/run/amd-gpu-sim/faults";

/// The table [performance] of a model; the defaults are those of one GCD of MI250X.
struct figures {
    double hbm_gb_s = 1390; ///< copy, read and written bytes both counted
    double fp64_tflops = 20.3;
    double link_gb_s = 37; ///< kernel copy over one xGMI link
    double pcie_gb_s = 25;
    double launch_us = 5;
    double mb_s_per_link = 50000; ///< what KFD says of one link
};

/// Reads PATH; what is missing or unreadable keeps its default.
figures read_figures(const std::string& path);

class performance {
  public:
    performance(figures base, const topology& node, const std::vector<fault>& faults);

    [[nodiscard]] double hbm_gb_s(const gpu& device) const;
    [[nodiscard]] double fp64_tflops(const gpu& device) const;
    /// From the memory of one GPU to another: the direct links, else the slowest hop of the shortest route, else PCIe.
    [[nodiscard]] double link_gb_s(const gpu& from, const gpu& to) const;
    [[nodiscard]] double pcie_gb_s() const { return base_.pcie_gb_s; }
    [[nodiscard]] double launch_us() const { return base_.launch_us; }

    /// Whether any path exists between two GPUs.
    [[nodiscard]] bool reachable(const gpu& from, const gpu& to) const;

  private:
    [[nodiscard]] double direct(int from, int to) const;

    figures base_;
    std::map<std::pair<int, int>, double> direct_; ///< GB/s by KFD nodes
    std::map<std::pair<int, int>, bool> linked_;   ///< pairs that KFD knows at all
    std::map<int, double> hbm_scale_;              ///< by gcd
    std::map<int, double> clock_scale_;
};

} // namespace sim::hip
