#include "spank/library_path.hpp"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <memory>
#include <optional>

namespace amd_gpu {
namespace {

constexpr std::string_view rocm_libraries[] = {"libamdhip64.so", "libhsa-runtime64.so", "librocm_smi64.so",
                                               "libamd_comgr.so"};

std::string without_links(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    return real ? std::string(real.get()) : path;
}

std::string list_of(const std::vector<std::string>& elements) {
    std::string text;
    for (const auto& element : elements)
        text += (text.empty() ? "" : ":") + element;
    return text;
}

} // namespace

bool holds_rocm(const std::string& directory) {
    const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory.c_str()), ::closedir);
    if (!opened)
        return false;
    while (const dirent* entry = ::readdir(opened.get())) {
        const std::string_view name = entry->d_name;
        if (std::any_of(std::begin(rocm_libraries), std::end(rocm_libraries),
                        [&](std::string_view library) { return name.starts_with(library); }))
            return true;
    }
    return false;
}

bool lies_below(std::string_view path, std::string_view directory) {
    while (directory.ends_with('/'))
        directory.remove_suffix(1);
    return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

std::vector<std::string> elements_of(std::string_view list) {
    std::vector<std::string> elements;
    for (std::size_t start = 0; start <= list.size();) {
        const std::size_t end = std::min(list.find(':', start), list.size());
        if (end > start)
            elements.emplace_back(list.substr(start, end - start));
        start = end + 1;
    }
    return elements;
}

std::string look_at_libraries(const std::vector<std::string>& directories, const std::string& variant) {
    const std::string home = without_links(variant);
    std::string places;
    for (const auto& directory : directories) {
        auto place = library_place::other;
        if (lies_below(directory, variant) || lies_below(without_links(directory), home))
            place = library_place::own;
        else if (holds_rocm(directory))
            place = library_place::foreign;
        places += static_cast<char>(place);
    }
    return places;
}

std::string with_foreign_last(const std::vector<std::string>& directories, std::string_view places) {
    const auto is = [&](std::size_t i, library_place place) {
        return i < places.size() && places[i] == static_cast<char>(place);
    };
    // Behind the last of the environment's own, so that it overtakes none of them.
    std::optional<std::size_t> last_own;
    for (std::size_t i = 0; i < directories.size(); ++i)
        if (is(i, library_place::own))
            last_own = i;
    std::vector<std::string> kept;
    std::vector<std::string> moved;
    for (std::size_t i = 0; i < directories.size(); ++i) {
        if (!is(i, library_place::foreign) || (last_own && i > *last_own))
            kept.push_back(directories[i]);
        else if (last_own)
            moved.push_back(directories[i]);
        if (i == last_own)
            kept.insert(kept.end(), moved.begin(), moved.end());
    }
    return list_of(kept);
}

std::string without_below(std::string_view list, std::string_view directory) {
    auto elements = elements_of(list);
    std::erase_if(elements, [&](const std::string& element) { return lies_below(element, directory); });
    return list_of(elements);
}

} // namespace amd_gpu
