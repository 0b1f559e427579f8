// When the server is asked for its index, and what its answer must be to count.
#include "environment/bundle.hpp"

#include "configuration/settings.hpp"
#include "environment/bundle_copy.hpp"
#include "environment/bundle_download.hpp"
#include "environment/mirror_order.hpp"

#include <ctime>
#include <fmt/format.h>
#include <random>
#include <thread>

namespace amd_gpu {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_signature = 4096;
constexpr unsigned rounds = 3;      // over all mirrors, when there is no copy to fall back upon
constexpr auto after_failure = 60s; // so long nobody is asked again while the copy does

/// What one mirror has, if it is good. A signature that is the one of the copy spares the index itself.
result<bundle_index> ask_mirror(const settings& site, const environment& of, const std::string& tree, index_copy& copy,
                                signed_index& to, deadline until, const progress& say) {
    auto signature = download_text(site, below(tree, "index.json.minisig"), longest_signature, until, say);
    if (!signature)
        return signature.failure();
    if (*signature == copy.last.signature && !copy.last.content.empty()) {
        to = copy.last;
    } else {
        auto content = download_text(site, below(tree, "index.json"), longest_index, until, say);
        if (!content)
            return content.failure();
        to = {std::move(*content), std::move(*signature)};
    }
    auto index = read_signed(to, of.bundle.keys);
    const status good = index ? may_use(*index, copy.highest, std::time(nullptr)) : index.failure();
    if (!good)
        return good.failure().within(origin_of(tree) + ": the index of images");
    return index;
}

/// Asks the mirrors until one has a good index, so many times; a round after which a server has said when it wants to
/// be asked again is none, for it is alive and only too many ask at once.
result<bundle_index> ask(const settings& site, const environment& of, index_copy& copy, unsigned times, deadline until,
                         const progress& say) {
    std::string failures;
    error_code code = error_code::peer;
    std::mt19937_64 random{std::random_device{}()};
    for (unsigned round = 0, pauses = 0;; ++pauses) {
        failures.clear();
        for (const std::string& tree : mirrors_in_order(of.bundle.urls)) {
            signed_index fresh;
            auto index = ask_mirror(site, of, tree, copy, fresh, until, say);
            if (index) {
                copy.last = std::move(fresh);
                copy.highest = std::max(copy.highest, index->version);
                return index;
            }
            code = index.failure().code == error_code::timed_out ? error_code::timed_out : error_code::peer;
            failures += (failures.empty() ? "" : "; ") + index.failure().what;
        }
        const auto busy_until = first_busy_until(of.bundle.urls);
        if ((!busy_until || times == 1) && ++round == times)
            return error{code, failures};
        const auto next = std::max(busy_until.value_or(deadline::clock::time_point::min()), deadline::clock::now()) +
                          pause_before(pauses, random());
        if (next >= until.when())
            return error{code, failures};
        std::this_thread::sleep_until(next);
    }
}

/// The index that counts now.
result<bundle_index> current_index(const settings& site, const environment& of, deadline until, const progress& say) {
    index_copy copy(site.state_directory + "/bundles", of.bundle.urls.front());
    if (const auto turn = copy.take_turn(until); !turn)
        return turn.failure();
    copy.load();
    const int64_t now = std::time(nullptr);
    auto held = copy.last.content.empty() ? error{error_code::not_found, "there is no copy"}
                                          : read_signed(copy.last, of.bundle.keys);
    if (held) {
        copy.highest = std::max(copy.highest, held->version);
        if (const status usable = may_use(*held, copy.highest, now); !usable)
            held = usable.failure();
    }
    const auto lately = [now](int64_t moment, std::chrono::milliseconds within) {
        return moment <= now && now - moment < std::chrono::ceil<std::chrono::seconds>(within).count();
    };
    if (held && (lately(copy.checked, site.index_refresh) ||
                 lately(copy.tried, std::min<std::chrono::milliseconds>(site.index_refresh, after_failure))))
        return held;

    // With a copy at hand nobody waits long for a newer one.
    auto fresh =
        held ? ask(site, of, copy, 1, until.at_most(site.connect_limit), say) : ask(site, of, copy, rounds, until, say);
    copy.tried = now;
    if (fresh)
        copy.checked = now;
    if (const status saved = copy.save(); !saved)
        say("the index of images cannot be kept: " + saved.failure().what);
    if (fresh || !held) {
        if (!fresh && !copy.last.content.empty())
            return error{fresh.failure().code, "the copy of the index of images cannot be used (" +
                                                   held.failure().what +
                                                   "), and there is no new one: " + fresh.failure().what};
        return fresh;
    }
    say("the index of images of " + utc_text(copy.checked) +
        " is used, for there is no new one: " + fresh.failure().what);
    return held;
}

} // namespace

status may_use(const bundle_index& index, uint64_t highest, int64_t now) {
    if (index.version < highest)
        return error{error_code::peer, fmt::format("has version {}, but version {} was seen before: it is one from the "
                                                   "past",
                                                   index.version, highest)};
    if (index.expires <= now)
        return error{error_code::peer, "expired on " + utc_text(index.expires) + "; its publisher must sign a new one"};
    return success();
}

result<std::vector<variant_candidate>> bundle_variants(const settings& site, const environment& of, deadline until,
                                                       const progress& say) {
    const progress tell = say ? say : [](const std::string&) {};
    const auto index = current_index(site, of, until, tell);
    if (!index)
        return index.failure().within("environment " + of.name);
    const auto found = index->environments.find(of.name);
    return found == index->environments.end() ? std::vector<variant_candidate>() : found->second;
}

} // namespace amd_gpu
