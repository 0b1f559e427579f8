// What every provider gives: the variants that exist (in the launch path: quick, no evaluation), and a way to make new
// ones (on a head or service node, minutes to hours).
#pragma once

#include "environment/catalogue.hpp"
#include "system/deadline.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace amd_gpu {

struct settings;

/// Texts for whoever waits.
using progress = std::function<void(const std::string&)>;

/// The variants of an environment of the site that this node could use. Errors, none of them the job's: an index that
/// cannot be read, no server that answers, ...
result<std::vector<variant_candidate>> variants_of(const settings& site, const environment& of, deadline until,
                                                   const progress& say);

/// What it would take to make the variants.
struct realise_plan {
    enum class need {
        ready,       ///< all is there
        fetch,       ///< to be downloaded
        build,       ///< to be built: hours, perhaps
        unsupported, ///< cannot be had, as `lines` say
    };
    need what = need::ready;
    unsigned fetches = 0;
    unsigned builds = 0;
    std::optional<uint64_t> fetch_bytes;
    std::vector<std::string> lines; ///< for people: what is fetched and built, hints
};

/// "ready", "fetch", "build", "unsupported".
std::string_view name_of(realise_plan::need what);

/// Makes variants of one environment.
class realiser {
  public:
    realiser() = default;
    realiser(const realiser&) = delete;
    realiser& operator=(const realiser&) = delete;
    virtual ~realiser() = default;

    /// SHA-256 of what the environment is made from. Errors: a source that cannot be read, pins that are not pinned.
    virtual result<std::string> digest() = 0;
    virtual result<realise_plan> plan(const std::vector<target_id>& targets, deadline until, const progress& say) = 0;
    /// Makes one variant for all of these targets, checks that it really was made for them, and gives its record.
    /// Whoever calls holds the flight of this digest and these targets, and writes the record into an index.
    /// `root`: a path for a garbage collector's root, beside the record; may be left unused.
    virtual result<variant> realise(const std::vector<target_id>& targets, const std::string& root, deadline until,
                                    const progress& say) = 0;
};

/// What makes the variants of an environment. Error (unsupported): its provider makes none.
result<std::unique_ptr<realiser>> make_realiser(const settings& site, const environment& of);

} // namespace amd_gpu
