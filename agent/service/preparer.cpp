#include "service/preparer.hpp"

#include "discovery/discover.hpp"
#include "health/probe_rounds.hpp"
#include "service/report.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

preparation ended(preparation so_far, outcome how, std::string message, std::string reason = {}) {
    so_far.reply.how = how;
    so_far.reply.message = std::move(message);
    so_far.reason = std::move(reason);
    return so_far;
}

std::string target_text(const gcd& die) {
    return die.target ? die.target->text() : "an unknown target";
}

/// The distinct targets of some GCDs, "gfx90a:sramecc+, gfx1030".
std::string targets_text(const std::vector<target_id>& targets) {
    std::string text;
    std::vector<target_id> seen;
    for (const auto& target : targets) {
        if (std::find(seen.begin(), seen.end(), target) != seen.end())
            continue;
        seen.push_back(target);
        text += (text.empty() ? "" : ", ") + target.text();
    }
    return text;
}

granted_gcd granted(const gcd& die, uint32_t slurm_index, const std::vector<uint32_t>& reserved) {
    granted_gcd one{die.index, slurm_index, die.bdf.text(), {}, die.render_minor, {}, {}};
    if (die.unique_id)
        one.unique_id = fmt::format("{:016x}", *die.unique_id);
    if (die.target)
        one.target = die.target->text();
    std::copy_if(die.cores.begin(), die.cores.end(), std::back_inserter(one.cores),
                 [&](uint32_t core) { return std::find(reserved.begin(), reserved.end(), core) == reserved.end(); });
    return one;
}

const gcd* find_gcd(const node& where, const std::string& bdf) {
    const auto found =
        std::find_if(where.gcds.begin(), where.gcds.end(), [&](const gcd& die) { return die.bdf.text() == bdf; });
    return found == where.gcds.end() ? nullptr : &*found;
}

/// What is wrong with the number of GPUs, as evidence for a reason; nothing when it is as it should be.
std::optional<std::string> missing_gpus(const node& where, const settings& site, uint32_t wanted) {
    const auto bound = static_cast<uint32_t>(slurm_order(where).size());
    const uint32_t expected = std::max(wanted, site.expected_gcds.value_or(0));
    if (bound >= expected)
        return std::nullopt;
    for (const auto& die : where.gcds)
        if (!die.bound)
            return fmt::format("{} gpu_count {}<{} (on PCI without driver: reload amdgpu or power cycle)",
                               die.bdf.text(), bound, expected);
    return fmt::format("gpu_count {}<{} (missing on PCI: power cycle, then hardware)", bound, expected);
}

/// Which of the accepted targets fits; the reason why none does otherwise.
std::optional<std::string> refused(const std::vector<std::string>& accepted, const gcd& die) {
    if (accepted.empty())
        return std::nullopt;
    if (!die.target)
        return "its target is unknown";
    std::string list;
    for (const auto& text : accepted) {
        const auto wanted = parse_target(text);
        const auto match = wanted ? match_target(*wanted, *die.target) : target_match{};
        if (match.how != fit::none)
            return std::nullopt;
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", text, match.reason);
    }
    return "the job accepts only " + list;
}

/// A fingerprint of what an activation is made from: the definition and the directory that holds the variants.
std::string state_of(const environment& definition) {
    std::string state;
    const auto parent = definition.path.substr(0, definition.path.find("{target}"));
    for (const auto& path : {definition.file, parent}) {
        struct stat found{};
        if (::stat(path.c_str(), &found) != 0)
            continue;
        state +=
            fmt::format("{}:{}:{}.{:09};", found.st_dev, found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    }
    return state;
}

} // namespace

std::vector<const gcd*> slurm_order(const node& where) {
    std::vector<const gcd*> order;
    for (const auto& die : where.gcds)
        if (die.bound && die.render_minor)
            order.push_back(&die);
    std::stable_sort(order.begin(), order.end(),
                     [](const gcd* a, const gcd* b) { return *a->render_minor < *b->render_minor; });
    return order;
}

result<std::shared_ptr<const node>> preparer::here(deadline until) {
    return discovered_.get("node", topology_generation(), [&] { return discover(site_, until); });
}

work_counters preparer::counters() const {
    return {discovered_.flights(), activated_.flights(), probe_children_};
}

result<std::shared_ptr<const preparer::activated>> preparer::activate(const std::string& environment,
                                                                      const std::vector<target_id>& devices) {
    const auto definitions = load_catalogue(site_.environments_directory);
    if (!definitions)
        return definitions.failure();
    const auto found = definitions->find(environment);
    const std::string state = found == definitions->end() ? std::string() : state_of(found->second);
    return activated_.get(environment + " " + targets_text(devices), state, [&]() -> result<activated> {
        auto choice = resolve(*definitions, environment, devices);
        if (!choice)
            return choice.failure();
        auto edits = activation_edits(choice->chosen, definitions->at(environment));
        if (!edits)
            return edits.failure();
        return activated{std::move(*choice), std::move(*edits)};
    });
}

preparation preparer::prepare(const preparation_request& request, const std::vector<granted_gcd>* granted_before,
                              deadline until, const progress& say) {
    preparation made;
    made.reply.mask = request.mask.empty() ? text_of(site_.mask) : request.mask;
    made.reply.bind = request.bind.empty() ? text_of(site_.bind) : request.bind;

    say("finding the GPUs");
    const auto found = here(until);
    if (!found)
        return ended(made, outcome::service_fault, "the GPUs cannot be discovered: " + found.failure().what);
    const node& where = **found;
    if (where.gcds.empty())
        return made; // a component on nodes without AMD GPUs: nothing to do

    if (granted_before != nullptr) {
        made.reply.gcds = *granted_before;
    } else {
        const bool none = !request.gpus || request.gpus->empty();
        if (none && request.only_with_gpus)
            return made;
        if (none)
            return ended(made, outcome::job_fault,
                         fmt::format("this job has no GPU on {}; add --gpus-per-node={} (or --gpus=N) to the command",
                                     request.node, slurm_order(where).size()));
        const auto order = slurm_order(where);
        const uint32_t highest = *std::max_element(request.gpus->begin(), request.gpus->end());
        if (const auto missing = missing_gpus(where, site_, highest + 1))
            return ended(made, outcome::node_fault, *missing, node_reason(*missing));
        for (const uint32_t index : *request.gpus)
            made.reply.gcds.push_back(granted(*order[index], index, site_.reserved_cores));
    }

    std::vector<target_id> devices;
    std::vector<pci_address> bdfs;
    for (const auto& mine : made.reply.gcds) {
        const gcd* die = find_gcd(where, mine.bdf);
        if (die == nullptr)
            return ended(made, outcome::node_fault, mine.bdf + " gpu_count: gone since the job began",
                         node_reason(mine.bdf + " gone while a job held it (power cycle, then hardware)"));
        if (const auto why = refused(request.targets, *die))
            return ended(made, outcome::job_fault,
                         fmt::format("GCD {} ({}) is {}; {}", die->index, mine.bdf, target_text(*die), *why));
        if (die->target)
            devices.push_back(*die->target);
        bdfs.push_back(die->bdf);
    }
    made.reply.report.push_back(
        fmt::format("{} GCD{}: {}", bdfs.size(), bdfs.size() == 1 ? "" : "s", targets_text(devices)));

    const std::string& environment = request.environment.empty() ? site_.default_environment : request.environment;
    if (!environment.empty()) {
        say("activating environment " + environment);
        if (devices.size() != bdfs.size())
            return ended(made, outcome::service_fault,
                         "the target of a GCD is unknown, so no environment can be chosen");
        const auto active = activate(environment, devices);
        if (!active) {
            const auto how = active.failure().code == error_code::usage ? outcome::job_fault : outcome::service_fault;
            return ended(made, how, active.failure().what);
        }
        made.reply.edits = (*active)->edits;
        made.reply.edits.push_back({edit::kind::set, "SLURM_AMD_GPU_ENVIRONMENT", environment});
        made.reply.edits.push_back({edit::kind::set, "SLURM_AMD_GPU_VARIANT", (*active)->choice.chosen.path});
        made.reply.report.push_back(fmt::format("environment {}: {}", environment, (*active)->choice.explanation));
    }
    const auto targets = build_target_edits(devices);
    made.reply.edits.insert(made.reply.edits.end(), targets.begin(), targets.end());

    const auto asked = parse_probe_level(request.probe).value_or(site_.probe_default);
    const auto level = std::clamp(asked, site_.probe_min, site_.probe_max);
    if (granted_before != nullptr || level == probe_level::off)
        return made;
    return probe(std::move(made), where, level, until, say);
}

preparation preparer::probe(preparation made, const node& where, probe_level level, deadline until,
                            const progress& say) {
    std::vector<pci_address> bdfs;
    for (const auto& mine : made.reply.gcds)
        bdfs.push_back(find_gcd(where, mine.bdf)->bdf);

    const deadline limit = until.at_most(site_.probe_deadline);
    std::unique_lock hold(probing_lock_);
    const bool mine = probing_done_.wait_until(hold, limit.when(), [&] {
        return std::none_of(bdfs.begin(), bdfs.end(), [&](const auto& bdf) { return probing_.contains(bdf); });
    });
    if (!mine)
        return ended(std::move(made), outcome::service_fault, "another preparation is still probing these GPUs");
    probing_.insert(bdfs.begin(), bdfs.end());
    hold.unlock();

    say(fmt::format("probing {} GCD{}", bdfs.size(), bdfs.size() == 1 ? "" : "s"));
    const auto [checks, children] = probe_and_judge(site_, where, bdfs, level, limit);
    probe_children_ += children;

    hold.lock();
    for (const auto& bdf : bdfs)
        probing_.erase(bdf);
    hold.unlock();
    probing_done_.notify_all();

    for (auto& line : probe_lines(where, bdfs, checks))
        made.reply.report.push_back(std::move(line));
    auto judged = fold(checks);
    return ended(std::move(made), judged.how, std::move(judged.message), std::move(judged.reason));
}

} // namespace amd_gpu
