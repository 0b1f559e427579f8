#include "environment/guix_text.hpp"

#include "environment/scheme.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <set>

namespace amd_gpu {

namespace {

std::string texts(const std::vector<std::string>& from) {
    std::string list;
    for (const std::string& one : from)
        list += (list.empty() ? "" : " ") + scheme_text(one);
    return list;
}

bool is_commit(std::string_view text) {
    constexpr std::size_t digits = 40;
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Calls with every list in a datum, outermost first.
void each_list(const scheme_value& from, const std::function<void(const scheme_value&)>& call) {
    if (from.what != scheme_value::kind::list)
        return;
    call(from);
    for (const scheme_value& one : from.items)
        each_list(one, call);
}

std::string text_in(const scheme_value* entry) {
    return entry != nullptr && entry->items.size() > 1 && entry->items[1].is_text() ? entry->items[1].word : "";
}

/// The channels of a channels.scm: forms (channel (name 'guix) (url "...") (commit "...")).
std::map<std::string, std::string> channels_in(std::string_view text) {
    std::map<std::string, std::string> commits;
    const auto data = read_scheme(text);
    if (!data)
        return commits;
    for (const scheme_value& one : *data)
        each_list(one, [&](const scheme_value& list) {
            if (list.items.empty() || !list.items.front().is_symbol("channel"))
                return;
            const scheme_value* name = list.entry("name");
            commits[name != nullptr && name->items.size() > 1 ? name->items[1].word : "?"] =
                text_in(list.entry("commit"));
        });
    return commits;
}

/// What Guix prints and what it means. The first that is found in the text counts; where it says nothing of its own,
/// the line of Guix that holds it is told.
struct known_failure {
    std::string_view mark;
    error_code code;
    std::string_view meaning; ///< followed by the line of Guix
};
constexpr known_failure known_failures[] = {
    {"failed to connect to `", error_code::peer, "the Guix daemon cannot be reached; is guix-daemon running?"},
    {"No space left on device", error_code::internal, "the disk of the store (or /tmp) is full"},
    {": unrecognized option", error_code::unsupported,
     "this Guix does not know an option; for --amd-gpu a newer one is needed (guix pull, or channels)"},
    {"does not support AMD GPU target", error_code::usage, "the compiler of these packages does not know the target"},
    {"no ROCm compiler was found among the inputs", error_code::usage,
     "a package says that it is for AMD GPUs but has no ROCm compiler"},
    {": unknown package", error_code::usage, "a package does not exist"},
    {"unbound variable", error_code::usage, "the manifest uses a name that is not defined"},
    {"missing closing parenthesis", error_code::usage, "the manifest is not complete"},
    {"failed to load", error_code::usage, "the manifest cannot be loaded"},
    {"sha256 hash mismatch", error_code::peer, "a server gave other bytes than it announced"},
    {"some substitutes for the outputs", error_code::peer,
     "a substitute server failed in the middle of a download; try again"},
    {"seconds of silence", error_code::timed_out, "a build was stopped because it said nothing for too long"},
    {"timed out after", error_code::timed_out, "a build was stopped because it took too long"},
    {"getaddrinfo", error_code::peer, "no network: a name cannot be resolved"},
    {"failed to resolve address", error_code::peer, "no network: a name cannot be resolved"},
    {"host not found", error_code::peer, "no network: a substitute server cannot be found"},
    {"failed to download", error_code::peer, "a source cannot be downloaded"},
    {"Read-only file system", error_code::internal,
     "Guix wants to write to a file system that is read-only here; realise on the head node"},
    {"failed with exit code", error_code::internal, "a package did not build"},
    {"build of `", error_code::internal, "a package did not build"},
};

std::string line_with(std::string_view text, std::size_t at) {
    const std::size_t start = text.rfind('\n', at) + 1;
    const std::size_t end = std::min(text.find('\n', at), text.size());
    constexpr std::size_t longest = 300;
    return std::string(trimmed(text.substr(start, std::min(end - start, longest))));
}

/// Adds the variables of one search path: (NAME (FILE...) SEPARATOR TYPE PATTERN).
void add_search_path(const scheme_value& path, std::map<std::string, edit>& to) {
    constexpr std::size_t least = 3;
    constexpr std::size_t pattern = 4;
    if (path.items.size() < least || !path.items[0].is_text())
        return;
    // A pattern picks files below the directories, which only Guix's own evaluation knows.
    if (path.items.size() > pattern && path.items[pattern].is_text())
        return;
    const std::string& name = path.items[0].word;
    const bool list = path.items[2].is_text();
    std::string value;
    for (const scheme_value& file : path.items[1].items)
        if (file.is_text() && is_plain_path("/" + file.word))
            value += (value.empty() ? "" : ":") + ("${prefix}/" + file.word);
        else if (file.is_text() && file.word == ".")
            value += (value.empty() ? "" : ":") + std::string("${prefix}");
    if (!value.empty() && may_edit(name) && (!list || path.items[2].word == ":"))
        to[name] = {list ? edit::kind::prepend : edit::kind::set, name, value};
}

/// "12.5 MB would be downloaded:" in bytes; nothing for "The following files would be downloaded:".
std::optional<uint64_t> bytes_of(std::string_view line) {
    double amount = 0;
    char unit = 0;
    const std::string text(line);
    if (std::sscanf(text.c_str(), "%lf %cB would", &amount, &unit) != 2 || !(amount >= 0) || amount > 1e6)
        return std::nullopt;
    return static_cast<uint64_t>(std::llround(amount * (unit == 'G' ? 1e9 : unit == 'k' || unit == 'K' ? 1e3 : 1e6)));
}

} // namespace

std::string guix_wrapper(const guix_source& from, const std::vector<std::string>& processors) {
    std::string options;
    for (const std::string& one : processors)
        options += (options.empty() ? "" : " ") + scheme_text(one);
    if (!options.empty())
        options = "(amd-gpu . (" + options + "))";
    // Guix reads several values of --amd-gpu as a list, and one CPU of --tune as a text.
    if (!from.tune.empty())
        options += (options.empty() ? "" : " ") + ("(tune . " + scheme_text(from.tune) + ")");
    std::string base = "(load* " + scheme_text(from.manifest) + " (make-user-module '((guix profiles) (gnu))))";
    if (from.manifest.empty())
        base = "(specifications->manifest (list " + texts(from.packages) + "))";
    // Entries that are no packages (inferiors) cannot be transformed, so they are refused rather than left as they are.
    return fmt::format(R"((use-modules (guix transformations) (guix profiles) (guix packages) (gnu packages)
             ((guix ui) #:select (load* make-user-module)))
(define transform (options->transformation '({})))
(define base {})
(profile
 (content
  (map-manifest-entries
   (lambda (entry)
     (if (package? (manifest-entry-item entry))
         (package->manifest-entry (transform (manifest-entry-item entry)) (manifest-entry-output entry))
         {}))
   base)))
)",
                       options, base,
                       processors.empty()
                           ? "entry"
                           : "(error \"not a package, so no variant of it can be made:\" (manifest-entry-name entry))");
}

std::map<std::string, std::string> channel_commits(std::string_view text) {
    return channels_in(text);
}

std::string channels_mistake(std::string_view text) {
    if (const auto data = read_scheme(text); !data)
        return data.failure().what;
    const auto commits = channels_in(text);
    if (commits.empty())
        return "it has no (channel ...) form";
    for (const auto& [name, commit] : commits)
        if (!is_commit(commit))
            return fmt::format(
                "channel {} has no (commit \"...\") of 40 hexadecimal digits, so that Guix would fetch its "
                "newest one at every use; `guix describe -f channels` prints full commits",
                name);
    return {};
}

realise_plan parse_guix_plan(std::string_view output, std::string_view diagnostics) {
    realise_plan plan;
    enum class section { none, builds, fetches } now = section::none;
    bool fetches = false;
    for (const std::string& line : split(diagnostics, '\n')) {
        const std::string_view text = trimmed(line);
        const auto says = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
        if (says(" would be downloaded")) {
            now = section::fetches;
            fetches = true;
            plan.fetch_bytes = bytes_of(text);
        } else if (says(" would be built") || says(" would be made")) {
            // Grafts and profile hooks take seconds: no package is built.
            now = says("derivation") ? section::builds : section::none;
        } else if (now != section::none && text.starts_with("/")) {
            if (now == section::builds && text.ends_with("-profile.drv"))
                continue; // the profile itself is put together here
            ++(now == section::builds ? plan.builds : plan.fetches);
            plan.lines.emplace_back((now == section::builds ? "build " : "download ") + std::string(text));
        }
    }
    plan.what = plan.builds > 0 ? realise_plan::need::build
                : fetches       ? realise_plan::need::fetch
                                : realise_plan::need::ready;
    if (!trimmed(output).starts_with("/") && plan.what == realise_plan::need::ready)
        plan.lines.emplace_back("the profile itself is put together, which takes seconds");
    return plan;
}

std::optional<std::vector<std::string>> compiled_for(std::string_view diagnostics) {
    constexpr std::string_view one = " for AMD GPU ";
    constexpr std::string_view several = " for these AMD GPUs: ";
    std::set<std::string> targets;
    bool compiled = false;
    for (const std::string& line : split(diagnostics, '\n')) {
        if (line.find(": compiling ") == std::string::npos)
            continue;
        const std::size_t single = line.find(one);
        const std::size_t list = line.find(several);
        if (single == std::string::npos && list == std::string::npos)
            continue;
        compiled = true;
        const std::size_t start = list != std::string::npos ? list + several.size() : single + one.size();
        for (const std::string& target : split(trimmed(std::string_view(line).substr(start)), ' '))
            if (!target.empty())
                targets.insert(target);
    }
    if (!compiled)
        return std::nullopt;
    return std::vector<std::string>(targets.begin(), targets.end());
}

error guix_failure(std::string_view diagnostics) {
    for (const known_failure& one : known_failures)
        if (const std::size_t at = diagnostics.find(one.mark); at != std::string_view::npos)
            return {one.code, fmt::format("{} (Guix says: {})", one.meaning, line_with(diagnostics, at))};
    std::size_t at = diagnostics.find("error: ");
    if (at == std::string_view::npos)
        at = diagnostics.find_last_not_of(" \t\r\n");
    const std::string said = at == std::string_view::npos ? "" : line_with(diagnostics, at);
    return {error_code::internal, said.empty() ? "Guix failed and said nothing" : "Guix failed: " + said};
}

result<guix_profile> parse_guix_profile(std::string_view manifest) {
    const auto data = read_scheme(manifest);
    if (!data)
        return data.failure();
    const error wrong{error_code::configuration, "not a profile's manifest of version 3 or 4"};
    if (data->size() != 1 || data->front().items.empty() || !data->front().items[0].is_symbol("manifest"))
        return wrong;
    const scheme_value* version = data->front().entry("version");
    if (version == nullptr || version->items.size() != 2 ||
        !(version->items[1].is_symbol("3") || version->items[1].is_symbol("4")))
        return wrong;
    guix_profile made;
    std::map<std::string, edit> edits;
    std::set<std::string> targets;
    each_list(data->front(), [&](const scheme_value& list) {
        if (list.items.empty())
            return;
        const scheme_value& head = list.items.front();
        if (head.is_symbol("search-paths") && list.items.size() == 2)
            for (const scheme_value& path : list.items[1].items)
                add_search_path(path, edits);
        if (head.is_symbol("amd-gpu"))
            for (const scheme_value& item : list.items)
                if (item.is_text())
                    targets.insert(item.word);
    });
    if (const scheme_value* packages = data->front().entry("packages");
        packages != nullptr && packages->items.size() == 2)
        for (const scheme_value& one : packages->items[1].items)
            if (one.items.size() > 1 && one.items[0].is_text() && one.items[1].is_text())
                made.packages.push_back(one.items[0].word + "@" + one.items[1].word);
    // Every profile's programs are found, whatever its packages declare.
    edits.emplace("PATH", edit{edit::kind::prepend, "PATH", "${prefix}/bin"});
    edits["GUIX_ENVIRONMENT"] = {edit::kind::set, "GUIX_ENVIRONMENT", "${prefix}"};
    for (auto& [name, change] : edits)
        made.edits.push_back(std::move(change));
    made.amd_gpu.assign(targets.begin(), targets.end());
    return made;
}

} // namespace amd_gpu
