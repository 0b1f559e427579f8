#include "service/preparer.hpp"

#include "discovery/discover.hpp"
#include "environment/edit_paths.hpp"
#include "node/process_target.hpp"
#include "placement/placement.hpp"
#include "service/job_caches.hpp"
#include "service/report.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

bool is_bound(const gcd& die) {
    return die.bound;
}

preparation ended(preparation so_far, outcome how, std::string message, std::string reason = {}) {
    so_far.reply.how = how;
    so_far.reply.message = std::move(message);
    so_far.reason = std::move(reason);
    return so_far;
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

granted_gcd granted(const gcd& die, std::optional<uint32_t> slurm_index, const node& where,
                    const std::vector<uint32_t>& reserved) {
    granted_gcd one;
    one.index = die.index;
    one.slurm_index = slurm_index;
    one.bdf = die.id().text();
    one.render_minor = die.render_minor;
    one.numa = die.numa;
    one.position = runtime_position(where, die);
    if (die.unique_id)
        one.unique_id = fmt::format("{:016x}", *die.unique_id);
    one.cores = without(die.cores, reserved);
    return one;
}

/// A GPU that is proven to be missing: on PCI but without its driver, or fewer than the site says there are. Other
/// disagreements (with another vendor's GPUs in Slurm's count, say) prove nothing about the node.
std::optional<std::string> missing_gpu(const node& where, const settings& site) {
    const auto bound = static_cast<uint32_t>(std::count_if(where.gcds.begin(), where.gcds.end(), is_bound));
    for (const auto& die : where.gcds)
        if (!die.bound)
            return fmt::format("{} gpu_count {}<{} (on PCI without driver: reload amdgpu or power cycle)",
                               die.bdf.text(), bound, where.gcds.size());
    if (site.expected_gcds && bound < *site.expected_gcds)
        return fmt::format("gpu_count {}<{} (missing on PCI: power cycle, then hardware)", bound, *site.expected_gcds);
    return std::nullopt;
}

/// The indices of Slurm's GPUs that belong to a request. A step's own device cgroup counts for more than the list in
/// its environment, which narrows it only where Slurm constrains no devices.
std::vector<uint32_t> wanted_indices(const preparation_request& request, const std::vector<const gcd*>& order) {
    auto listed = request.gpus.value_or(std::vector<uint32_t>{});
    if (!request.render_minors)
        return listed;
    const auto& minors = *request.render_minors;
    std::vector<uint32_t> open;
    uint32_t ours = 0;
    for (uint32_t index = 0; index < order.size(); ++index) {
        if (order[index] == nullptr || !order[index]->render_minor)
            continue;
        ++ours;
        if (std::find(minors.begin(), minors.end(), *order[index]->render_minor) != minors.end())
            open.push_back(index);
    }
    return open.size() < ours ? open : listed;
}

/// The targets of the option, which has checked them.
std::vector<target_id> targets_in(const std::vector<std::string>& texts) {
    std::vector<target_id> targets;
    for (const auto& text : texts)
        if (auto target = parse_target(text))
            targets.push_back(std::move(*target));
    return targets;
}

/// Which of the accepted targets fits; the reason why none does otherwise.
std::optional<std::string> refused(const std::vector<target_id>& accepted, const std::optional<target_id>& device) {
    if (accepted.empty())
        return std::nullopt;
    if (!device)
        return "its target is unknown";
    std::string list;
    for (const auto& wanted : accepted) {
        const auto match = match_target(wanted, *device);
        if (match.how != fit::none)
            return std::nullopt;
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", wanted.text(), match.reason);
    }
    return "the job accepts only " + list;
}

/// What the tasks get of an environment that is ready on this node.
void put_into(preparation_reply& reply, const activated& active, const std::string& name) {
    const variant& chosen = active.choice.chosen;
    reply.edits = active.edits;
    std::string place = chosen.path;
    if (chosen.kept == storage::blob && !chosen.mount_point.empty()) {
        place = chosen.mount_point;
        reply.mounts.push_back({chosen.path, place});
        move_paths(reply.edits, chosen.path, place);
    }
    reply.edits.push_back({edit::kind::set, "SLURM_AMD_GPU_ENVIRONMENT", name});
    reply.edits.push_back({edit::kind::set, "SLURM_AMD_GPU_VARIANT", place});
    reply.report.push_back(fmt::format("environment {}: {}", name, active.choice.explanation));
    if (is_digest_name(name)) // its directories are the user's, and not looked at by root
        return;
    for (const char* below : {"/lib", "/lib64"})
        if (holds_c_library(chosen.path + below))
            reply.report.push_back(fmt::format(
                "{}{} holds a C library and is left out of LD_LIBRARY_PATH, where it would break the system's programs",
                place, below));
}

/// The GCDs that the driver is bound to, by render minor.
std::vector<const gcd*> in_service(const node& where) {
    std::vector<const gcd*> bound;
    for (const auto& die : where.gcds)
        if (die.bound && die.render_minor)
            bound.push_back(&die);
    std::sort(bound.begin(), bound.end(),
              [](const gcd* a, const gcd* b) { return *a->render_minor < *b->render_minor; });
    return bound;
}

} // namespace

result<std::shared_ptr<const node>> preparer::here(deadline until) {
    return discovered_.get("node", topology_generation(), [&] { return discover(site_, until); });
}

work_counters preparer::counters() const {
    return {discovered_.flights(), activations_.made(), probe_children_};
}

result<std::shared_ptr<const gres_devices>> preparer::slurm_gpus(const preparation_request& request, deadline until) {
    return slurm_gpus_.get(request.node + " " + request.slurm_conf,
                           gres_state(site_, request.slurm_conf) + topology_generation(),
                           [&] { return ask_slurmd(site_, request.node, request.slurm_conf, until); });
}

bool preparer::grant(const preparation_request& request, const node& where, bool alone, deadline until,
                     preparation& made) {
    const auto end_with = [&](outcome how, std::string message, std::string reason = {}) {
        made = ended(std::move(made), how, std::move(message), std::move(reason));
        return false;
    };
    const bool no_gpu_node = where.gcds.empty() && !site_.expected_gcds;
    const bool no_gpu_job = !request.render_minors && request.gpus.value_or(std::vector<uint32_t>{}).empty();
    if (no_gpu_node || (request.only_with_gpus && no_gpu_job && site_.gpus_without_gres == gres_policy::refuse))
        return false; // a node without AMD GPUs, or a job that never asked for any: none of our business

    const auto bound = in_service(where);
    const auto known = slurm_gpus(request, until);
    auto order = known ? gcds_of(**known, where) : bound;
    const auto missing = request.step ? std::nullopt : missing_gpu(where, site_);
    const auto listed = wanted_indices(request, order);
    // slurmd answers nothing while a device file of gres.conf is gone: then the GPU that is missing is the reason.
    if (!known && missing && !listed.empty())
        return end_with(outcome::node_fault, *missing, node_reason(*missing));
    // Without Slurm's own word only a job that has them all needs no order.
    if (!known && !listed.empty() && listed.size() < bound.size())
        return end_with(outcome::service_fault,
                        "it is not known in which order Slurm counts the GPUs: " + known.failure().what);

    if (listed.empty() && !known && site_.gpus_without_gres == gres_policy::exclusive_nodes)
        return end_with(outcome::service_fault,
                        "it is not known whether Slurm counts the GPUs: " + known.failure().what);
    if (listed.empty() && known && (*known)->empty() && site_.gpus_without_gres == gres_policy::exclusive_nodes) {
        if (!alone)
            return end_with(outcome::service_fault, "another job has the GPUs of this node, which Slurm does not count "
                                                    "(gpus_without_gres is for nodes that are given away whole)");
        for (const gcd* die : bound)
            made.reply.gcds.push_back(granted(*die, std::nullopt, where, site_.reserved_cores));
        return true;
    }
    if (listed.empty()) {
        if (request.only_with_gpus)
            return false;
        return end_with(outcome::job_fault,
                        fmt::format("this job has no GPU on {}; add --gpus-per-node={} (or --gpus=N) to the command",
                                    request.node, std::max<std::size_t>(order.size(), 1)));
    }
    const uint32_t highest = *std::max_element(listed.begin(), listed.end());
    if (highest >= order.size()) {
        if (missing)
            return end_with(outcome::node_fault, *missing, node_reason(*missing));
        return end_with(outcome::service_fault,
                        fmt::format("Slurm speaks of GPU {} on {}, where {} AMD GPUs are in service; compare gres.conf "
                                    "with: amd-gpu-agent slurm-config",
                                    highest, request.node, bound.size()));
    }
    // An index without a GCD is another vendor's GPU, which is none of ours, as long as all of ours have theirs.
    const auto ours = order.size() - static_cast<std::size_t>(std::count(order.begin(), order.end(), nullptr));
    const auto stray =
        std::find_if(listed.begin(), listed.end(), [&](uint32_t index) { return order[index] == nullptr; });
    if (stray != listed.end() && missing)
        return end_with(outcome::node_fault, *missing, node_reason(*missing));
    if (stray != listed.end() && ours < bound.size())
        return end_with(outcome::service_fault,
                        fmt::format("the device file of Slurm's GPU {} on {} is none of the {} AMD GPUs in service; "
                                    "compare gres.conf with: amd-gpu-agent slurm-config",
                                    *stray, request.node, bound.size()));
    for (const uint32_t index : listed)
        if (order[index] != nullptr)
            made.reply.gcds.push_back(
                granted(*order[index], known ? std::optional(index) : std::nullopt, where, site_.reserved_cores));
    return !made.reply.gcds.empty();
}

preparation preparer::prepare(const preparation_request& request, const std::vector<granted_gcd>* granted_before,
                              bool alone, deadline until, const progress& say) {
    preparation made;
    made.reply.mask = request.mask.empty() ? text_of(site_.mask) : request.mask;
    made.reply.bind = request.bind.empty() ? text_of(site_.bind) : request.bind;

    say("finding the GPUs");
    const auto found = here(until);
    if (!found)
        return ended(made, outcome::service_fault, "the GPUs cannot be discovered: " + found.failure().what);
    const node& where = **found;
    if (granted_before != nullptr)
        made.reply.gcds = *granted_before;
    else if (!grant(request, where, alone, until, made))
        return made;

    const auto accepted = targets_in(request.targets);
    const auto asked_mode = asked_xnack(accepted);
    std::optional<bool> xnack; // what HSA_XNACK must be
    std::vector<target_id> devices;
    std::vector<gcd_id> bdfs;
    for (auto& mine : made.reply.gcds) {
        const auto id = gcd_id::parse(mine.bdf);
        const gcd* die = id ? find_gcd(where, *id) : nullptr;
        if (die == nullptr)
            return ended(made, outcome::node_fault, mine.bdf + " gpu_count: gone since the job began",
                         node_reason(mine.bdf + " gone while a job held it (power cycle, then hardware)"));
        const bool apu_default = site_.apu_xnack && die->kind == gpu_kind::apu;
        const auto wish = asked_mode || !apu_default ? asked_mode : true;
        const auto target = process_target(*die, wish);
        if (const auto why = refused(accepted, target))
            return ended(made, outcome::job_fault,
                         fmt::format("GCD {} ({}) is {}; {}", die->index, mine.bdf,
                                     target ? target->text() : "of an unknown target", *why));
        if (target) {
            mine.target = target->text();
            devices.push_back(*target);
        }
        if (const auto mode = needed_xnack(*die, wish))
            xnack = mode;
        bdfs.push_back(die->id());
    }
    made.reply.report.push_back(
        fmt::format("{} GCD{}: {}", bdfs.size(), bdfs.size() == 1 ? "" : "s", targets_text(devices)));

    const std::string& environment = request.environment.empty() ? site_.default_environment : request.environment;
    if (!environment.empty()) {
        say("activating environment " + environment);
        if (devices.size() != bdfs.size())
            return ended(made, outcome::service_fault,
                         "the target of a GCD is unknown, so no environment can be chosen");
        const auto active = activations_.activate({environment, request.uid, request.job, devices}, until, say);
        if (!active) {
            const auto how = active.failure().code == error_code::usage ? outcome::job_fault : outcome::service_fault;
            return ended(made, how, active.failure().what);
        }
        put_into(made.reply, **active, environment);
        made.reply.cache = job_cache(site_, request.job, (*active)->choice.chosen.key());
    }
    if (xnack) // a target that the job names is its word; the site's default gives way to the user's own variable
        made.reply.edits.push_back(
            {asked_mode ? edit::kind::set : edit::kind::fallback, "HSA_XNACK", *xnack ? "1" : "0"});
    const auto targets = build_target_edits(devices);
    made.reply.edits.insert(made.reply.edits.end(), targets.begin(), targets.end());

    const auto asked = parse_probe_level(request.probe).value_or(site_.probe_default);
    const auto level = std::clamp(asked, site_.probe_min, site_.probe_max);
    if (granted_before != nullptr || level == probe_level::off)
        return made;
    // At step time the job itself may be using its GPUs already; then they are left alone, and that is no fault.
    const auto when_held = request.step ? held_means::nothing : held_means::not_probed;
    return probe(std::move(made), where, bdfs, level, when_held, until, say);
}

preparation preparer::probe(preparation made, const node& where, const std::vector<gcd_id>& bdfs, probe_level level,
                            held_means when_held, deadline until, const progress& say) {
    /// Holds some GCDs for one preparation; gives them back however it ends.
    class hold_on {
      public:
        hold_on(preparer& all, const std::vector<gcd_id>& bdfs, deadline patience)
            : all_(all)
            , bdfs_(bdfs) {
            std::unique_lock hold(all_.probing_lock_);
            got_ = all_.probing_done_.wait_until(hold, patience.when(), [&] {
                return std::none_of(bdfs.begin(), bdfs.end(),
                                    [&](const auto& bdf) { return all_.probing_.contains(bdf); });
            });
            if (got_)
                all_.probing_.insert(bdfs.begin(), bdfs.end());
        }
        hold_on(const hold_on&) = delete;
        hold_on& operator=(const hold_on&) = delete;
        ~hold_on() {
            if (!got_)
                return;
            const std::lock_guard hold(all_.probing_lock_);
            for (const auto& bdf : bdfs_)
                all_.probing_.erase(bdf);
            all_.probing_done_.notify_all();
        }
        [[nodiscard]] bool got() const { return got_; }

      private:
        preparer& all_;
        const std::vector<gcd_id>& bdfs_;
        bool got_ = false;
    };

    const hold_on mine(*this, bdfs, until);
    if (!mine.got())
        return ended(std::move(made), outcome::service_fault, "another preparation is still probing these GPUs");
    say(fmt::format("probing {} GCD{}", bdfs.size(), bdfs.size() == 1 ? "" : "s"));
    const auto [checks, children] = probe_and_judge(site_, where, bdfs, level, when_held, until);
    probe_children_ += children;
    for (auto& line : probe_lines(where, bdfs, checks))
        made.reply.report.push_back(std::move(line));
    auto judged = fold(checks);
    return ended(std::move(made), judged.how, std::move(judged.message), std::move(judged.reason));
}

} // namespace amd_gpu
