#include "commands/wanted_environment.hpp"

#include "configuration/settings.hpp"
#include "environment/variant_index.hpp"
#include "system/files.hpp"
#include "system/sha256.hpp"

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace amd_gpu {

namespace {

constexpr std::size_t largest_manifest = 1UL << 20;

result<std::string> whole_path(const std::string& file) {
    const std::unique_ptr<char, void (*)(void*)> whole(::realpath(file.c_str(), nullptr), std::free);
    if (!whole)
        return error{error_code::usage, system_error(errno, file).what};
    return std::string(whole.get());
}

/// A manifest, named for its content as jobs name it.
result<environment> environment_of_file(const std::string& file, const std::string& channels) {
    const auto manifest = whole_path(file);
    if (!manifest)
        return manifest.failure();
    const result<std::string> content = read_file(*manifest, largest_manifest);
    if (!content)
        return error{error_code::usage, content.failure().what};
    environment made;
    made.name = "sha256:" + sha256_of(*content);
    made.provider = "guix";
    made.guix.manifest = *manifest;
    made.file = *manifest;
    if (channels.empty())
        return made;
    const auto pins = whole_path(channels);
    if (!pins)
        return pins.failure();
    made.guix.channels = *pins;
    return made;
}

} // namespace

result<environment> wanted_environment(const settings& site, const std::string& text, const std::string& channels) {
    if (text.find('/') != std::string::npos)
        return environment_of_file(text, channels);
    const auto known = load_catalogue(site.environments_directory);
    if (!known)
        return known.failure();
    return find_environment(*known, text);
}

result<std::vector<variant_candidate>> wanted_variants(const settings& site, const environment& of, deadline until) {
    return is_digest_name(of.name) ? user_variants(site, ::geteuid(), of.name, until)
                                   : variants_of(site, of, until, {});
}

} // namespace amd_gpu
