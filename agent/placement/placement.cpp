#include "placement/placement.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace amd_gpu {
namespace {

using share = std::vector<std::size_t>; // positions of GCDs

std::vector<share> shares_of(const std::vector<std::size_t>& order, uint32_t ranks) {
    std::vector<share> shares(ranks);
    const uint64_t count = order.size();
    for (uint64_t rank = 0; rank < ranks && count > 0; ++rank) {
        const auto first = rank * count / ranks;
        const auto last = std::max((rank + 1) * count / ranks, first + 1);
        shares[rank].assign(order.begin() + static_cast<std::ptrdiff_t>(first),
                            order.begin() + static_cast<std::ptrdiff_t>(last));
    }
    return shares;
}

cpu_list closest_of(const share& gcds, const std::vector<cpu_list>& closest) {
    cpu_list cpus;
    for (const auto gcd : gcds)
        cpus.insert(cpus.end(), closest[gcd].begin(), closest[gcd].end());
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

/// Of two ascending lists.
cpu_list common(const cpu_list& one, const cpu_list& other) {
    cpu_list both;
    std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::back_inserter(both));
    return both;
}

/// Which share each rank gets when each is to have one of those that it wishes for; nothing when that cannot be for
/// all. A rank takes the first that is free; one that finds all taken makes earlier ranks move on (augmenting paths in
/// a bipartite graph).
class matching {
  public:
    /// By rank: the shares that it may have, the best first. There are as many shares as ranks.
    explicit matching(std::vector<std::vector<std::size_t>> wishes)
        : wishes_(std::move(wishes))
        , owner_(wishes_.size()) {}

    std::optional<std::vector<std::size_t>> solve() {
        for (std::size_t rank = 0; rank < wishes_.size(); ++rank) {
            visited_.assign(wishes_.size(), false);
            if (!take_free(rank) && !take_any(rank))
                return std::nullopt;
        }
        std::vector<std::size_t> share_of_rank(wishes_.size());
        for (std::size_t s = 0; s < owner_.size(); ++s)
            share_of_rank[*owner_[s]] = s;
        return share_of_rank;
    }

  private:
    bool take_free(std::size_t rank) {
        for (const auto s : wishes_[rank])
            if (!owner_[s]) {
                owner_[s] = rank;
                return true;
            }
        return false;
    }

    bool take_any(std::size_t rank) {
        for (const auto s : wishes_[rank]) {
            if (visited_[s])
                continue;
            visited_[s] = true;
            if (!owner_[s] || take_any(*owner_[s])) {
                owner_[s] = rank;
                return true;
            }
        }
        return false;
    }

    std::vector<std::vector<std::size_t>> wishes_;
    std::vector<std::optional<std::size_t>> owner_; // by share
    std::vector<bool> visited_;
};

/// Leaves ranks where Slurm put them, if each is then beside a share of its own.
std::vector<share> follow_ranks(std::vector<share> shares, const placement_facts& facts) {
    if (facts.bound.size() != shares.size())
        return shares;
    std::vector<cpu_list> closest;
    for (const auto& gcds : shares)
        closest.push_back(closest_of(gcds, facts.closest));
    std::vector<std::vector<std::size_t>> wishes(shares.size());
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
        std::vector<std::pair<double, std::size_t>> beside; // less the part of the share's CPUs that the rank has
        for (std::size_t s = 0; s < shares.size(); ++s)
            if (const auto both = common(facts.bound[rank], closest[s]).size(); both > 0)
                beside.emplace_back(-static_cast<double>(both) / static_cast<double>(closest[s].size()), s);
        std::sort(beside.begin(), beside.end());
        for (const auto& [part, s] : beside)
            wishes[rank].push_back(s);
    }
    const auto chosen = matching(std::move(wishes)).solve();
    if (!chosen)
        return shares;
    std::vector<share> moved;
    for (const auto s : *chosen)
        moved.push_back(shares[s]);
    return moved;
}

/// Deals out cores that several ranks want: each run of cores wanted by the same ranks is divided evenly among them.
std::vector<cpu_list> divide(const std::vector<cpu_list>& wanted, const placement_facts& facts) {
    std::map<uint32_t, std::vector<std::size_t>> ranks_of; // by CPU
    for (std::size_t rank = 0; rank < wanted.size(); ++rank)
        for (const auto cpu : wanted[rank])
            ranks_of[cpu].push_back(rank);

    // By the ranks that want it and by core: its hardware threads.
    std::map<std::vector<std::size_t>, std::map<uint32_t, cpu_list>> runs;
    for (const auto& [cpu, ranks] : ranks_of)
        runs[ranks][ranks.size() > 1 && facts.core_of ? facts.core_of(cpu) : cpu].push_back(cpu);

    std::vector<cpu_list> dealt(wanted.size());
    for (const auto& [ranks, cores] : runs) {
        std::vector<cpu_list> list;
        for (const auto& [core, threads] : cores)
            list.push_back(threads);
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const auto first = i * list.size() / ranks.size();
            const auto last = std::max((i + 1) * list.size() / ranks.size(), first + 1);
            for (auto core = first; core < last; ++core)
                dealt[ranks[i]].insert(dealt[ranks[i]].end(), list[core].begin(), list[core].end());
        }
    }
    for (auto& cpus : dealt)
        std::sort(cpus.begin(), cpus.end());
    return dealt;
}

} // namespace

cpu_list without(const cpu_list& cpus, const cpu_list& reserved) {
    cpu_list rest;
    std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(rest),
                 [&](uint32_t cpu) { return std::find(reserved.begin(), reserved.end(), cpu) == reserved.end(); });
    return rest;
}

std::vector<std::size_t> order_by_cores(const std::vector<cpu_list>& closest) {
    std::vector<std::size_t> order(closest.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto lowest = [&](std::size_t gcd) {
        const auto& cpus = closest[gcd];
        return cpus.empty() ? std::numeric_limits<uint32_t>::max() : *std::min_element(cpus.begin(), cpus.end());
    };
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return std::pair(lowest(a), a) < std::pair(lowest(b), b); });
    return order;
}

std::vector<rank_place> place_ranks(const placement_facts& facts) {
    std::vector<rank_place> rows(facts.ranks);
    const auto shares = follow_ranks(shares_of(order_by_cores(facts.closest), facts.ranks), facts);
    std::vector<cpu_list> wanted(facts.ranks);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        rows[rank].gcds = shares[rank];
        wanted[rank] = common(closest_of(shares[rank], facts.closest), facts.usable);
    }
    const auto dealt = divide(wanted, facts);
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        auto& row = rows[rank];
        row.cpus = dealt[rank];
        const auto unknown =
            std::any_of(row.gcds.begin(), row.gcds.end(), [&](std::size_t gcd) { return facts.closest[gcd].empty(); });
        if (unknown) { // the others' cores alone would pull the rank away from this one
            row.cpus.clear();
            row.remark = "which cores are closest to its GPU is not known; not bound";
        } else if (row.cpus.empty() && !row.gcds.empty()) {
            row.remark = "none of the CPUs of this step is beside its GPU; not bound";
        } else if (row.gcds.size() > 1 && row.cpus.size() < row.gcds.size()) {
            row.remark = std::to_string(row.cpus.size()) + " CPUs drive " + std::to_string(row.gcds.size()) +
                         " GPUs; more with --cpus-per-task, or one rank a GPU";
        }
    }
    return rows;
}

} // namespace amd_gpu
