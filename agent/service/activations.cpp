#include "service/activations.hpp"

#include "environment/variant_index.hpp"

#include <chrono>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace amd_gpu {
namespace {

constexpr unsigned most_of_one_user = 4; // children that read a user's index at the same time

/// A published index is looked at again after this; the provider decides whether that takes a request.
constexpr auto look_again = std::chrono::seconds(30);

std::string key_of(const activation_request& wanted) {
    std::vector<std::string> targets;
    for (const target_id& device : wanted.devices)
        targets.push_back(device.text());
    return fmt::format("{} {}", wanted.environment, fmt::join(targets, " "));
}

/// A fingerprint of what the choice is made from: the definition, and the directory that the variants or their records
/// are in. Making a variant or a record changes the directory's time.
std::string state_of(const settings& site, const environment& definition) {
    std::vector<std::string> paths{definition.file};
    if (definition.provider == "prefix")
        paths.push_back(definition.path.substr(0, definition.path.find("{target}")));
    else if (definition.provider != "bundle")
        paths.push_back(site.index + "/v1/" + definition.name);
    std::string state;
    for (const std::string& path : paths) {
        struct stat found{};
        if (::stat(path.c_str(), &found) == 0)
            state +=
                fmt::format("{}:{}:{}.{:09};", found.st_dev, found.st_ino, found.st_mtim.tv_sec, found.st_mtim.tv_nsec);
    }
    if (definition.provider == "bundle")
        state += fmt::to_string(std::chrono::steady_clock::now().time_since_epoch() / look_again);
    return state;
}

result<activated> edits_for(resolution choice, const environment& definition) {
    auto edits = activation_edits(choice.chosen, definition);
    if (!edits)
        return edits.failure();
    return activated{std::move(choice), std::move(*edits)};
}

} // namespace

activations::activations(const settings& site)
    : site_(site)
    , blobs_(site)
    , user_slots_(most_of_one_user) {}

result<std::shared_ptr<const activated>> activations::activate(const activation_request& wanted, deadline until,
                                                               const progress& say) {
    return is_digest_name(wanted.environment) ? of_user(wanted, until) : of_site(wanted, until, say);
}

result<std::shared_ptr<const activated>> activations::of_site(const activation_request& wanted, deadline until,
                                                              const progress& say) {
    const auto definitions = load_catalogue(site_.environments_directory);
    if (!definitions)
        return definitions.failure();
    const auto definition = find_environment(*definitions, wanted.environment);
    if (!definition)
        return definition.failure();
    const std::string key = key_of(wanted);
    const std::string state = state_of(site_, *definition);
    const auto choice = chosen_.get(key, state, [&]() -> result<resolution> {
        const auto variants = variants_of(site_, *definition, until, say);
        if (!variants)
            return variants.failure();
        return resolve(*definition, *variants, wanted.devices);
    });
    if (!choice)
        return choice.failure();
    resolution local = **choice;
    if (variant& chosen = local.chosen; chosen.kept == storage::blob) {
        auto path = blobs_.hold({chosen.blob, chosen.blob_bytes, definition->bundle.urls}, wanted.job, until, say);
        if (!path)
            return path.failure();
        chosen.path = std::move(*path);
    }
    // Where it lies belongs to the state: an image may be mounted at another place than last time.
    return activated_.get(key, state + local.chosen.path, [&] { return edits_for(local, *definition); });
}

/// Nothing is kept from one job to the next: root cannot see whether the user's index has changed without looking below
/// the user's home, and a record of one user must never serve another.
result<std::shared_ptr<const activated>> activations::of_user(const activation_request& wanted, deadline until) {
    const auto slot = user_slots_.take(wanted.user, until);
    if (!slot)
        return error{error_code::usage,
                     fmt::format("{} other jobs of yours on this node are waiting for your index of environments; it "
                                 "is slow, or they are too many at once",
                                 most_of_one_user)};
    const auto variants = user_variants(site_, wanted.user, wanted.environment, until);
    if (!variants)
        return variants.failure();
    environment definition;
    definition.name = wanted.environment;
    definition.provider = "guix"; // what a user's file can be realised by
    auto choice = resolve(definition, *variants, wanted.devices);
    if (!choice)
        return choice.failure();
    ++of_users_;
    // The child has made the edits: their directories are the user's, too.
    auto edits = choice->chosen.edits;
    return std::make_shared<const activated>(activated{std::move(*choice), std::move(edits)});
}

status activations::recover(deadline until) {
    return blobs_.recover(until);
}

void activations::release(uint32_t job) {
    blobs_.release(job);
}

unsigned activations::made() const {
    return activated_.flights() + of_users_;
}

} // namespace amd_gpu
