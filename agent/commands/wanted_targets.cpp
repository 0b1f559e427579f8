#include "commands/wanted_targets.hpp"

#include "discovery/discover.hpp"
#include "system/files.hpp"

namespace amd_gpu {

result<std::vector<target_id>> named_targets(const std::string& list) {
    std::vector<target_id> targets;
    for (const std::string& text : split(list, ',')) {
        result<target_id> one = parse_target(text);
        if (!one)
            return one.failure();
        targets.push_back(*std::move(one));
    }
    return targets;
}

result<std::vector<target_id>> targets_here(const settings& site) {
    const result<node> here = discover(site, deadline::in(site.discovery_deadline));
    if (!here)
        return here.failure();
    std::vector<target_id> targets;
    for (const gcd& one : here->gcds) {
        if (!one.bound)
            continue; // no job can be given it
        if (!one.target)
            return error{error_code::unsupported, "the target of GCD " + one.bdf.text() + " is not known"};
        targets.push_back(*one.default_target());
    }
    if (targets.empty())
        return error{error_code::not_found, "no AMD GPU on this node; --targets names the targets of another"};
    return targets;
}

} // namespace amd_gpu
