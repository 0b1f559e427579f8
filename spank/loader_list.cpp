#include "spank/loader_list.hpp"

#include "spank/library_path.hpp"

#include <algorithm>

namespace amd_gpu {
namespace {

constexpr std::string_view checked[] = {"libamdhip64", "libhsa-runtime64", "libstdc++"};
constexpr std::string_view spare = "libstdc++"; // an old one may well do, so it alone ends no job

std::string_view name_in(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // npos + 1 is 0
}

std::string_view directory_of(std::string_view path) {
    const auto end = path.rfind('/');
    return end == std::string_view::npos ? std::string_view() : path.substr(0, end);
}

/// Calls for every line, without its end.
template<typename F>
void for_each_line(std::string_view text, F each) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        each(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// What stands between two texts in a line; empty when either is missing.
std::string_view between(std::string_view line, std::string_view before, std::string_view behind) {
    const auto start = line.find(before);
    if (start == std::string_view::npos)
        return {};
    line.remove_prefix(start + before.size());
    const auto end = line.find(behind);
    return end == std::string_view::npos ? std::string_view() : line.substr(0, end);
}

/// The tree that a program came in: PREFIX of PREFIX/bin/x, else its directory. The system's are nobody's bundle.
std::string tree_of(std::string_view program) {
    auto tree = directory_of(program);
    if (name_in(tree) == "bin" || name_in(tree) == "libexec" || name_in(tree) == "sbin")
        tree = directory_of(tree);
    if (tree == "/usr" || tree == "/usr/local" || tree == "/opt")
        return {};
    return std::string(tree);
}

/// "the RUNPATH of /home/u/app".
std::string by_way_of(const loader_reason& why) {
    return why.how + (why.whose.empty() ? "" : " of " + why.whose);
}

std::string advice(const loader_reason& why) {
    if (why.how == "LD_LIBRARY_PATH")
        return "take that directory out of LD_LIBRARY_PATH";
    if (why.how == "RPATH" || why.how == "RUNPATH")
        return "link it without that run path, or run it without the environment";
    return "link it with a run path into the environment (-Wl,-rpath), or run it without the environment";
}

} // namespace

std::string_view stem_of(std::string_view library) {
    return library.substr(0, library.find(".so"));
}

bool is_checked(std::string_view library) {
    return std::find(std::begin(checked), std::end(checked), stem_of(library)) != std::end(checked);
}

std::vector<listed_library> parse_loader_list(std::string_view text) {
    std::vector<listed_library> listed;
    for_each_line(text, [&](std::string_view line) {
        if (!line.starts_with('\t'))
            return;
        line.remove_prefix(1);
        constexpr std::string_view arrow = " => ";
        const auto at = line.find(arrow);
        const auto address = line.rfind(" (0x");
        if (at != std::string_view::npos) {
            const auto from = line.substr(at + arrow.size());
            std::string path;
            if (from != "not found" && address != std::string_view::npos && address > at)
                path = line.substr(at + arrow.size(), address - at - arrow.size());
            listed.push_back({std::string(name_in(line.substr(0, at))), std::move(path)});
        } else if (address != std::string_view::npos && line.starts_with('/')) {
            const auto path = line.substr(0, address);
            listed.push_back({std::string(name_in(path)), std::string(path)});
        }
    });
    return listed;
}

loader_reason parse_loader_reason(std::string_view text, std::string_view library) {
    loader_reason why;
    const std::string wanted = "file=" + std::string(library) + " [";
    const std::string searched = "find library=" + std::string(library) + " [";
    bool searching = false;
    bool done = false;
    std::string_view place;
    for_each_line(text, [&](std::string_view line) {
        if (done)
            return;
        if (why.requester.empty() && line.find(wanted) != std::string_view::npos)
            why.requester = between(line, "needed by ", " [");
        if (line.find("find library=") != std::string_view::npos) {
            searching = line.find(searched) != std::string_view::npos;
        } else if (searching && line.find(" search path=") != std::string_view::npos) {
            // "(RUNPATH from file ./app)", "(LD_LIBRARY_PATH)", "(system search path)"
            const auto open = line.rfind("\t(");
            place = open == std::string_view::npos ? std::string_view() : between(line.substr(open), "\t(", ")");
        } else if (searching && line.find(" search cache=") != std::string_view::npos) {
            place = "ld.so.cache";
        } else if (searching && line.find("calling init") != std::string_view::npos) {
            done = true;
        }
        // The last place searched before the next library is where it was found.
        if (searching && !place.empty()) {
            constexpr std::string_view from = " from file ";
            const auto at = place.find(from);
            why.how = place == "system search path" ? "the system's directories" : std::string(place.substr(0, at));
            why.whose = at == std::string_view::npos ? "" : std::string(place.substr(at + from.size()));
        }
    });
    return why;
}

std::vector<loader_finding> judge_loaded(const std::string& program, const std::vector<listed_library>& listed,
                                         const own_libraries& own,
                                         const std::function<std::string(const std::string&)>& real) {
    std::vector<loader_finding> findings;
    const std::string tree = tree_of(real(program));
    for (const auto& library : listed) {
        if (!is_checked(library.name))
            continue;
        const auto same_stem = [&](const loadable_file& file) {
            return stem_of(name_in(file.path)) == stem_of(library.name);
        };
        auto mine = std::find_if(own.files.begin(), own.files.end(),
                                 [&](const loadable_file& file) { return name_in(file.path) == library.name; });
        const bool same_version = mine != own.files.end();
        if (!same_version)
            mine = std::find_if(own.files.begin(), own.files.end(), same_stem);
        if (mine == own.files.end())
            continue;
        const std::string place = library.path.empty() ? "" : real(library.path);
        const auto is_it = [&](const loadable_file& file) { return file.real == place; };
        if (!place.empty() &&
            (lies_below(place, own.real_place) || (!own.store.empty() && lies_below(place, own.store)) ||
             std::any_of(own.files.begin(), own.files.end(), is_it)))
            continue;
        auto how = loader_finding::weight::fault;
        if (!place.empty() && !tree.empty() && lies_below(place, tree))
            how = loader_finding::weight::remark;
        else if (stem_of(library.name) == spare)
            how = loader_finding::weight::warning;
        findings.push_back({how, library, mine->path});
    }
    return findings;
}

std::string text_of(const loader_finding& finding, const std::string& program, const loader_reason& why) {
    const auto& library = finding.found;
    std::string line = program;
    if (library.path.empty())
        line += " finds no " + library.name;
    else if (finding.how == loader_finding::weight::remark)
        line += " brings its own " + library.name + " (" + library.path + ")";
    else
        line += " would load " + library.name + " from " + library.path;
    if (finding.how == loader_finding::weight::remark)
        return line + " and runs with that instead of the environment's " + finding.own;
    if (!why.how.empty() && !library.path.empty())
        line += " (" + by_way_of(why) + ")";
    line += library.path.empty() ? "; the environment has " : " and not the environment's ";
    line += finding.own;
    if (!why.requester.empty() && why.requester != program)
        line += ", first asked for by " + why.requester;
    if (name_in(finding.own) != library.name)
        return line + "; it was built for another version: build it with the environment, or choose one that fits it";
    return line + "; " + advice(why);
}

} // namespace amd_gpu
