// What is wrong with libraries that are used together.
#include "environment/library_check.hpp"
#include "target/match.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tuple>

namespace amd_gpu {

namespace {

/// Libraries of ROCm, of which one process can use one version each.
constexpr std::string_view rocm_libraries[] = {"libamdhip64.", "libhsa-runtime64.", "libamd_comgr.", "libhip",
                                               "libroc",       "librccl.",          "libMIOpen."};
constexpr std::string_view rocm_directory = "/opt/rocm";

bool is_rocm(std::string_view soname) {
    return std::any_of(std::begin(rocm_libraries), std::end(rocm_libraries),
                       [&](std::string_view start) { return soname.starts_with(start); });
}

bool is_code_object(std::string_view name) {
    return name.ends_with(".co") || name.ends_with(".hsaco");
}

std::string held(const code_part& part) {
    std::vector<std::string> texts;
    for (const target_id& one : part.targets)
        texts.push_back(one.text());
    texts.insert(texts.end(), part.unknown.begin(), part.unknown.end());
    return fmt::format("{}", fmt::join(texts, ", "));
}

bool any_fits(const std::vector<target_id>& built, const target_id& device) {
    return std::any_of(built.begin(), built.end(),
                       [&](const target_id& one) { return match_target(one, device).how != fit::none; });
}

bool fits(const code_part& part, const target_id& device) {
    return part.portable || any_fits(part.targets, device);
}

/// Whether it would fit in some mode of a device whose modes are not known.
bool may_fit(const code_part& part, const target_id& device) {
    return std::any_of(part.targets.begin(), part.targets.end(), [&](const target_id& built) {
        return built.processor == device.processor &&
               (device.xnack == feature_mode::any || built.xnack == feature_mode::any || built.xnack == device.xnack) &&
               (device.sramecc == feature_mode::any || built.sramecc == feature_mode::any ||
                built.sramecc == device.sramecc);
    });
}

/// Code that is judged together. `one_file`: its parts are meant for the same GPUs.
void judge_code(const std::string& name, bool one_file, const embedded_code& code,
                const std::vector<target_id>& devices, std::vector<library_finding>& to) {
    for (const std::string& problem : code.problems)
        to.push_back({false, fmt::format("{} holds what cannot be read: {}", name, problem)});
    if (code.parts.empty()) {
        if (code.expected && code.problems.empty())
            to.push_back({true, name + " registers GPU code with HIP, but holds none for any GPU"});
        return;
    }
    const code_part all = code.all();
    if (all.empty())
        return; // made by HIP's compiler, but nothing of it runs on a GPU
    for (const target_id& device : devices) {
        if (fits(all, device)) {
            const auto without = std::count_if(code.parts.begin(), code.parts.end(), [&](const code_part& part) {
                return !part.empty() && !fits(part, device);
            });
            if (without > 0 && one_file)
                to.push_back({false, fmt::format("{} has no code for {} in {} of its {} parts", name, device.text(),
                                                 without, code.parts.size())});
        } else if (may_fit(all, device)) {
            to.push_back({false, fmt::format("{} has code for {} in some modes only (it holds {})", name, device.text(),
                                             held(all))});
        } else {
            const bool hollow = any_fits(all.hollow, device);
            to.push_back(
                {code.problems.empty(), fmt::format("{} has no {} for {} (it {} {})", name, hollow ? "kernels" : "code",
                                                    device.text(), hollow ? "has some for" : "holds", held(all))});
        }
    }
}

/// "libamdhip64.so.6" without "6".
std::string_view without_version(std::string_view soname) {
    const std::size_t end = soname.find(".so.");
    return end == std::string_view::npos ? soname : soname.substr(0, end + 3);
}

/// The name by which others need a library.
std::string soname_of(const library_file& file) {
    return file.linked && !file.linked->soname.empty() ? file.linked->soname
                                                       : file.name.substr(file.name.rfind('/') + 1);
}

class link_judge {
  public:
    link_judge(const std::vector<library_file>& files, const std::string& path)
        : path_(path) {
        for (const library_file& file : files)
            if (file.linked)
                there_[soname_of(file)].push_back(&file);
    }

    void judge(const library_file& file, std::vector<library_finding>& to) const {
        for (const std::string& needed : file.linked->needed)
            if (is_rocm(needed) && !there_.contains(needed))
                judge_missing(file, needed, to);
        for (const auto& [library, versions] : file.linked->needed_versions)
            judge_versions(file, library, versions, to);
        if (path_.starts_with(rocm_directory))
            return;
        for (const std::string& run_path : file.linked->run_paths)
            if (run_path.starts_with(rocm_directory))
                to.push_back({false, fmt::format("{} looks for libraries in {}, which belongs to another ROCm",
                                                 file.name, run_path)});
    }

  private:
    void judge_missing(const library_file& file, const std::string& needed, std::vector<library_finding>& to) const {
        for (const auto& [soname, holders] : there_)
            if (without_version(soname) == without_version(needed)) {
                to.push_back(
                    {true, fmt::format("{} needs {}, but {} is {}", file.name, needed, holders[0]->name, soname)});
                return;
            }
        if (!file.reached.contains(needed))
            to.push_back({false, fmt::format("{} needs {}, which is not here: it would come from the system", file.name,
                                             needed)});
    }

    void judge_versions(const library_file& file, const std::string& library, const std::set<std::string>& versions,
                        std::vector<library_finding>& to) const {
        const auto holders = there_.find(library);
        if (holders == there_.end())
            return;
        std::set<std::string> offered;
        for (const library_file* one : holders->second)
            offered.insert(one->linked->versions.begin(), one->linked->versions.end());
        if (offered.empty())
            return;
        for (const std::string& version : versions) {
            if (offered.contains(version))
                continue;
            // the last of the same series: GLIBCXX_3.4.30 is after GLIBCXX_3.4.9
            const std::string series = version.substr(0, version.find('_') + 1);
            std::string last;
            for (const std::string& one : offered)
                if (!series.empty() && one.starts_with(series) && ::strverscmp(one.c_str(), last.c_str()) > 0)
                    last = one;
            to.push_back(
                {true, fmt::format("{} needs {}, which {} does not have{}", file.name, version,
                                   holders->second[0]->name, last.empty() ? "" : " (it ends with " + last + ")")});
        }
    }

    std::string path_;
    std::map<std::string, std::vector<const library_file*>> there_; ///< by soname
};

} // namespace

std::vector<library_finding> judge_libraries(const std::vector<library_file>& files, const std::string& path,
                                             const std::vector<target_id>& devices) {
    std::vector<library_finding> found;
    std::map<std::string, embedded_code> together; // directory -> its code objects
    for (const library_file& file : files) {
        if (!is_code_object(file.name)) {
            judge_code(file.name, true, file.code, devices, found);
            continue;
        }
        embedded_code& code = together[file.name.substr(0, file.name.rfind('/') + 1)];
        code.parts.insert(code.parts.end(), file.code.parts.begin(), file.code.parts.end());
        code.problems.insert(code.problems.end(), file.code.problems.begin(), file.code.problems.end());
    }
    for (const auto& [directory, code] : together)
        judge_code(directory.empty() ? "." : directory.substr(0, directory.size() - 1), false, code, devices, found);
    const link_judge links(files, path);
    for (const library_file& file : files)
        if (file.linked)
            links.judge(file, found);
    std::sort(found.begin(), found.end(), [](const library_finding& a, const library_finding& b) {
        return std::tie(b.fault, a.text) < std::tie(a.fault, b.text);
    });
    return found;
}

} // namespace amd_gpu
