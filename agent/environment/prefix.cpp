// Finding variants by listing the directory that holds them.
#include "environment/prefix.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <sys/stat.h>
#include <tuple>

namespace amd_gpu {

namespace {

constexpr std::string_view placeholder = "{target}";

/// "/opt/demo-{target}/rocm" in four: "/opt/", "demo-", "", "/rocm".
struct pattern {
    std::string parent;
    std::string before;
    std::string behind;
    std::string rest;

    explicit pattern(std::string_view path) {
        const std::size_t at = path.find(placeholder);
        const std::size_t start = path.rfind('/', at) + 1;
        const std::size_t after = at + placeholder.size();
        const std::size_t end = std::min(path.find('/', after), path.size());
        parent = path.substr(0, start);
        before = path.substr(start, at - start);
        behind = path.substr(after, end - after);
        rest = path.substr(end);
    }

    [[nodiscard]] std::string path(std::string_view name) const {
        return parent + before + std::string(name) + behind + rest;
    }
};

/// The target that a directory is named for; nothing for any other name.
std::optional<target_id> target_of(std::string_view name) {
    std::string features;
    std::string_view processor = name;
    // Behind the processor as target_id::path_text() writes them: -sramecc_on-xnack_off.
    for (const std::string_view feature : {"xnack", "sramecc"})
        for (const bool on : {true, false}) {
            const std::string suffix = "-" + std::string(feature) + (on ? "_on" : "_off");
            if (processor.ends_with(suffix)) {
                processor.remove_suffix(suffix.size());
                features += ":" + std::string(feature) + (on ? "+" : "-");
                break;
            }
        }
    const result<target_id> target = parse_target(std::string(processor) + features);
    return target ? std::optional(*target) : std::nullopt;
}

variant_candidate offered(const environment& of, const target_id& target, std::string path) {
    const bool exists = is_directory(path);
    std::string unusable;
    if (!exists)
        unusable = "no directory " + path;
    else if (path.find(':') != std::string::npos)
        unusable = "PATH cannot hold a ':', rename it to " + target.path_text();
    variant_candidate one;
    one.found.environment = of.name;
    one.found.provider = of.provider;
    one.found.targets = {target};
    one.found.path = std::move(path);
    one.unusable = std::move(unusable);
    return one;
}

} // namespace

bool is_directory(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string prefix_path_mistake(std::string_view path) {
    if (path.empty() || path.front() != '/')
        return "path must be absolute";
    const std::size_t at = path.find(placeholder);
    if (at == std::string_view::npos)
        return "path must hold {target}, such as \"/opt/envs/NAME/{target}\"";
    if (path.find(placeholder, at + 1) != std::string_view::npos)
        return "path may hold {target} only once";
    if (std::any_of(path.begin(), path.end(), [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }))
        return "path holds white space, in which HIP programs fail";
    if (path.find(':') != std::string_view::npos)
        return "path holds a ':', which separates the directories in PATH";
    return {};
}

std::string prefix_path(const environment& of, const target_id& target) {
    return pattern(of.path).path(target.path_text());
}

std::vector<variant_candidate> prefix_variants(const environment& of) {
    const pattern where(of.path);
    std::vector<variant_candidate> all;
    if (!of.targets.empty()) {
        for (const target_id& target : of.targets) {
            const std::string usual = where.path(target.path_text());
            const std::string other = where.path(target.text());
            all.push_back(offered(of, target, !is_directory(usual) && is_directory(other) ? other : usual));
        }
    } else {
        for (const std::string& entry : list_directory(where.parent)) {
            std::string_view name = entry;
            if (name.size() < where.before.size() + where.behind.size() || !name.starts_with(where.before) ||
                !name.ends_with(where.behind))
                continue;
            name.remove_prefix(where.before.size());
            name.remove_suffix(where.behind.size());
            const std::optional<target_id> target = target_of(name);
            if (target && is_directory(where.path(name)))
                all.push_back(offered(of, *target, where.path(name)));
        }
    }
    // One variant a target: the usable one, where both names are there.
    std::sort(all.begin(), all.end(), [](const variant_candidate& a, const variant_candidate& b) {
        return std::tuple(a.found.targets, !a.unusable.empty(), a.found.path) <
               std::tuple(b.found.targets, !b.unusable.empty(), b.found.path);
    });
    const auto same = [](const variant_candidate& a, const variant_candidate& b) {
        return a.found.targets == b.found.targets;
    };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
}

} // namespace amd_gpu
