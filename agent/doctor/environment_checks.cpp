#include "doctor/environment_checks.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace amd_gpu {

namespace {

constexpr const char* environment_check = "software";
constexpr const char* image_check = "images";

bool lacks_files(const variant_candidate& one) {
    return !one.unusable.empty() && one.found.kept != storage::blob && !one.found.path.empty() &&
           one.unusable.find(one.found.path) != std::string::npos;
}

} // namespace

step check_environment(const environment& of, const result<std::vector<variant_candidate>>& variants,
                       const std::vector<target_id>& devices, bool is_default) {
    if (!variants)
        return {step::state::wrong, environment_check, of.name + ": " + variants.failure().what, ""};
    const auto choice = resolve(of, *variants, devices);
    if (choice)
        return {step::state::ok, environment_check, of.name + ": " + choice->explanation, ""};
    const auto gone = std::find_if(variants->begin(), variants->end(), lacks_files);
    if (of.provider != "prefix" && gone != variants->end())
        return {step::state::warning, environment_check, fmt::format("{}: {}", of.name, gone->unusable),
                "if the nodes share it, mount it here, too; else see: amd-gpu-agent variants verify " + of.name};
    if (is_default)
        return {step::state::warning, environment_check, choice.failure().what,
                "it is the default environment, so that every job here which names none will fail"};
    return {step::state::skipped, environment_check, of.name + ": has no variant for these GPUs", ""};
}

step check_images(std::string_view filesystems, std::string_view modules) {
    if (filesystems.find("\tsquashfs\n") != std::string_view::npos)
        return {step::state::ok, image_check, "the kernel mounts squashfs", ""};
    if (modules.empty())
        return {step::state::unknown, image_check, "squashfs is not loaded, and the kernel's modules cannot be listed",
                ""};
    if (modules.find("/squashfs.ko") != std::string_view::npos)
        return {step::state::ok, image_check, "the kernel can load squashfs", ""};
    return {step::state::warning, image_check, "the kernel has no squashfs, so images are unpacked into the cache",
            "install the kernel's module squashfs, or give the cache room for unpacked software"};
}

} // namespace amd_gpu
