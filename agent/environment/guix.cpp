// Realising by Guix. Its exit status proves nothing (it ignores what it does not apply to, and a dry run always
// succeeds), so every step is checked by what it printed and by what the profile says.
#include "environment/guix.hpp"

#include "environment/bundle_download.hpp"
#include "environment/guix_program.hpp"
#include "environment/guix_substitutes.hpp"
#include "environment/guix_text.hpp"
#include "system/files.hpp"
#include "system/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

constexpr std::size_t largest_source = 1UL << 20;
constexpr std::size_t largest_manifest = 64UL << 20; // of a profile
constexpr std::size_t largest_narinfo = 64UL << 10;
constexpr std::size_t most_asked = 50; // of the items that would be built
constexpr auto one_answer = std::chrono::seconds(5);
constexpr auto all_answers = std::chrono::seconds(30);
constexpr std::string_view prefix_word = "${prefix}";

std::vector<std::string> processors_of(const std::vector<target_id>& targets) {
    std::vector<std::string> names;
    for (const target_id& one : targets)
        names.push_back(one.processor);
    return names;
}

std::vector<std::string> sorted(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
}

bool exists(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0;
}

/// The last line that is a path.
std::string path_in(std::string_view output) {
    std::string path;
    for (const std::string& line : split(output, '\n'))
        if (line.starts_with("/"))
            path = trimmed(line);
    return path;
}

class guix_maker : public realiser {
  public:
    guix_maker(const settings& site, const environment& of)
        : site_(site)
        , source_(of.guix)
        , guix_(site, of.guix.channels) {}

    result<std::string> digest() override;
    result<realise_plan> plan(const std::vector<target_id>& targets, deadline until, const progress& say) override;
    result<variant> realise(const std::vector<target_id>& targets, const std::string& root, deadline until,
                            const progress& say) override;

  private:
    /// What `guix build --dry-run` printed for these processors, once this Guix and these packages are known to be able
    /// to make variants. Errors (unsupported): they are not.
    result<guix_answer> evaluate(const std::vector<target_id>& targets, deadline until, const progress& say);
    result<guix_answer> build(const std::vector<std::string>& processors, const std::vector<std::string>& more,
                              deadline until, const progress& say);
    [[nodiscard]] std::vector<std::string> hint(const realise_plan& plan, deadline until, const progress& say) const;
    [[nodiscard]] status check_channels() const;
    result<std::string> version();
    result<std::map<std::string, std::string>> provenance();

    const settings& site_;
    guix_source source_;
    guix_program guix_;
};

status guix_maker::check_channels() const {
    if (source_.channels.empty())
        return success();
    const auto text = read_file(source_.channels, largest_source);
    if (!text)
        return text.failure();
    if (const std::string mistake = channels_mistake(*text); !mistake.empty())
        return error{error_code::configuration, source_.channels + ": " + mistake};
    return success();
}

result<std::string> guix_maker::version() {
    const auto answer = guix_.run_plainly({"--version"}, deadline::in(std::chrono::seconds(30)));
    if (!answer)
        return answer.failure();
    const std::string line(trimmed(answer->output.substr(0, answer->output.find('\n'))));
    return line.substr(line.rfind(' ') + 1); // "guix (GNU Guix) 1.5.0"
}

result<std::string> guix_maker::digest() {
    if (const status pinned = check_channels(); !pinned)
        return pinned.failure();
    // Each part with its length before it, so that no two sources run together to the same bytes.
    sha256 sum;
    const auto add = [&](std::string_view label, std::string_view text) {
        sum.add(fmt::format("{} {}\n", label, text.size()));
        sum.add(text);
    };
    for (const auto& [label, file] : {std::pair("manifest", source_.manifest), {"channels", source_.channels}}) {
        if (file.empty())
            continue;
        const auto text = read_file(file, largest_source);
        if (!text)
            return text.failure();
        add(label, *text);
    }
    for (const std::string& package : source_.packages)
        add("package", package);
    add("tune", source_.tune);
    if (source_.channels.empty()) {
        // Without pins, another Guix makes other software of the same manifest.
        const auto made_by = version();
        if (!made_by)
            return made_by.failure();
        add("guix", *made_by);
    }
    return sum.digits();
}

result<guix_answer> guix_maker::build(const std::vector<std::string>& processors, const std::vector<std::string>& more,
                                      deadline until, const progress& say) {
    const auto file = guix_.write(guix_wrapper(source_, processors));
    if (!file)
        return file.failure();
    std::vector<std::string> arguments{"build", "-f", *file, "-v", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (!source_.substitute_urls.empty())
        arguments.push_back(fmt::format("--substitute-urls={}", fmt::join(source_.substitute_urls, " ")));
    return guix_.run(arguments, until, say);
}

result<guix_answer> guix_maker::evaluate(const std::vector<target_id>& targets, deadline until, const progress& say) {
    if (const std::string mistake = guix_targets_mistake(targets); !mistake.empty())
        return error{error_code::unsupported, mistake};
    if (const status pinned = check_channels(); !pinned)
        return pinned.failure();
    // --help-transform does not list the option, but it fails where the option is not known; no daemon is asked.
    if (const auto known = guix_.run({"build", "--amd-gpu=gfx90a", "--help-transform"}, until, say); !known)
        return known.failure();
    // Guix says which packages it compiles for which GPUs: the only sign that any of them is for GPUs at all. For the
    // compiler's default nothing is rewritten and nothing said, so one of its targets is asked for in its place.
    const auto asked = processors_of(targets.empty() ? std::vector{guix_default_targets().front()} : targets);
    const auto answer = build(asked, {"--dry-run"}, until, say);
    if (!answer)
        return answer.failure();
    const auto compiled = compiled_for(answer->diagnostics);
    if (!compiled)
        return error{error_code::unsupported, "none of the packages is for AMD GPUs, so Guix would make the same "
                                              "software whatever the target; use it without a target"};
    if (*compiled != sorted(asked))
        return error{error_code::internal, fmt::format("Guix was asked to compile for {}, but says {}",
                                                       fmt::join(asked, " "), fmt::join(*compiled, " "))};
    if (!targets.empty())
        return answer;
    return build({}, {"--dry-run"}, until, say);
}

/// What the site's substitute servers say of what would be built.
std::vector<std::string> guix_maker::hint(const realise_plan& plan, deadline until, const progress& say) const {
    constexpr std::string_view build_word = "build ";
    std::vector<std::string> items;
    for (const std::string& line : plan.lines) {
        if (!line.starts_with(build_word) || !line.ends_with(".drv") || items.size() == most_asked)
            continue;
        const auto text = read_file(line.substr(build_word.size()), largest_source);
        if (const std::string item = text ? derivation_output(*text) : std::string(); !item.empty())
            items.push_back(item);
    }
    const text_reader read = [&](const std::string& url, deadline limit) {
        return download_text(site_, url, largest_narinfo, limit.at_most(one_answer), say);
    };
    return substitutes_hint(source_.substitute_urls, items, until.at_most(all_answers), read);
}

result<realise_plan> guix_maker::plan(const std::vector<target_id>& targets, deadline until, const progress& say) {
    const auto answer = evaluate(targets, until, say);
    if (!answer && answer.failure().code == error_code::unsupported) {
        realise_plan none;
        none.what = realise_plan::need::unsupported;
        none.lines.push_back(answer.failure().what);
        return none;
    }
    if (!answer)
        return answer.failure();
    realise_plan plan = parse_guix_plan(answer->output, answer->diagnostics);
    if (plan.builds > 0 && !source_.substitute_urls.empty())
        for (auto& line : hint(plan, until, say))
            plan.lines.push_back(std::move(line));
    if (plan.what == realise_plan::need::build && !targets.empty())
        plan.lines.emplace_back("servers have packages for their compiler's default targets only; with "
                                "--default-targets nothing may have to be built");
    return plan;
}

result<std::map<std::string, std::string>> guix_maker::provenance() {
    const auto made_by = version();
    if (!made_by)
        return made_by.failure();
    std::map<std::string, std::string> facts{{"guix", *made_by}};
    if (!source_.manifest.empty())
        facts["manifest"] = source_.manifest;
    if (!source_.tune.empty())
        facts["tune"] = source_.tune;
    if (source_.channels.empty())
        return facts;
    const auto text = read_file(source_.channels, largest_source);
    if (!text)
        return text.failure();
    for (const auto& [name, commit] : channel_commits(*text))
        facts["channel " + name] = commit;
    return facts;
}

result<variant> guix_maker::realise(const std::vector<target_id>& targets, const std::string& root, deadline until,
                                    const progress& say) {
    if (const auto able = evaluate(targets, until, say); !able)
        return able.failure();
    const auto processors = processors_of(targets);
    const auto limit = std::chrono::duration_cast<std::chrono::seconds>(until.left()).count();
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(site_.guix_silence).count();
    const auto answer = build(
        processors, {fmt::format("--timeout={}", limit), fmt::format("--max-silent-time={}", silence)}, until, say);
    if (!answer)
        return answer.failure();
    const std::string profile = path_in(answer->output);
    if (!is_plain_path(profile))
        return error{error_code::peer, "guix build ended well but named no profile"};
    if (!processors.empty() && compiled_for(answer->diagnostics) != sorted(processors))
        return error{error_code::internal,
                     "Guix built a profile but compiled nothing for " + fmt::format("{}", fmt::join(processors, " "))};
    const auto manifest = read_file(profile + "/manifest", largest_manifest);
    if (!manifest)
        return manifest.failure().within("the profile that Guix made cannot be read here");
    const auto read = parse_guix_profile(*manifest);
    if (!read)
        return read.failure().within(profile);
    if (read->amd_gpu != sorted(processors))
        return error{error_code::internal,
                     fmt::format("the profile {} is recorded as made for \"{}\", not for \"{}\"", profile,
                                 fmt::join(read->amd_gpu, " "), fmt::join(processors, " "))};
    // As ourselves, since the user that evaluates may write nowhere; a path in the store is not evaluated.
    if (!root.empty())
        if (const auto kept = guix_.run_plainly({"build", "-v", "1", profile, "-r", root}, until); !kept)
            return kept.failure().within("keeping " + profile + " from being collected as garbage");
    auto facts = provenance();
    if (!facts)
        return facts.failure();
    variant made;
    made.targets = targets.empty() ? guix_default_targets() : targets;
    made.path = profile;
    made.kept = storage::store;
    made.substitutable = targets.empty();
    made.edits = edits_within(read->edits, profile);
    made.suggests_edits = false;
    made.provenance = std::move(*facts);
    return made;
}

} // namespace

std::string guix_targets_mistake(const std::vector<target_id>& targets) {
    for (const target_id& one : targets)
        if (one.xnack != feature_mode::any || one.sramecc != feature_mode::any)
            return fmt::format("Guix makes no variants for {}: what it builds runs in every mode of xnack and sramecc; "
                               "ask for {}",
                               one.text(), one.processor);
    return {};
}

std::vector<target_id> guix_default_targets() {
    std::vector<target_id> all;
    for (const char* name : {"gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201"})
        all.push_back({name});
    std::sort(all.begin(), all.end());
    return all;
}

std::vector<edit> edits_within(const std::vector<edit>& edits, const std::string& profile) {
    std::vector<edit> left;
    for (const edit& one : edits) {
        edit kept = one;
        kept.value.clear();
        for (const std::string& part : split(one.value, ':')) {
            const std::string below = part.starts_with(prefix_word) ? part.substr(prefix_word.size()) : part;
            if (exists(profile + below))
                kept.value += (kept.value.empty() ? "" : ":") + part;
        }
        if (!kept.value.empty())
            left.push_back(std::move(kept));
    }
    return left;
}

result<std::unique_ptr<realiser>> guix_realiser(const settings& site, const environment& of) {
    if (of.guix.tune == "native")
        return error{error_code::configuration,
                     of.file + ": tune = \"native\" would be the CPU of the machine that realises; name that of the "
                               "nodes, such as \"znver3\""};
    return std::unique_ptr<realiser>(std::make_unique<guix_maker>(site, of));
}

} // namespace amd_gpu
