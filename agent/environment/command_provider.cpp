// Running a site's program, and reading what it says.
#include "environment/command_provider.hpp"

#include "environment/variant_index.hpp"
#include "system/fd.hpp"
#include "system/files.hpp"
#include "system/process.hpp"
#include "system/sha256.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr std::size_t longest_answer = longest_record;
constexpr std::size_t most_lines = 1000;
/// What stands in place of targets where the program chooses them.
constexpr std::string_view own_choice = "default";

error nonsense(const std::string& what) {
    return {error_code::peer, "its answer: " + what};
}

/// The answer as an object of members that are known. Errors (peer).
result<json> read_answer(std::string_view text, const std::set<std::string_view>& known) {
    if (text.size() > longest_answer)
        return nonsense(fmt::format("longer than {} bytes", longest_answer));
    json answer = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!answer.is_object())
        return nonsense(trimmed(text).empty() ? "empty; a JSON object is needed"
                                              : "no JSON object but " + amd_gpu::quoted(trimmed(text)));
    for (const auto& [name, value] : answer.items())
        if (!known.contains(name))
            return nonsense(fmt::format("unknown member {}; known: {}", amd_gpu::quoted(name), fmt::join(known, ", ")));
    return answer;
}

/// A number that may be missing or null.
result<std::optional<uint64_t>> number(const json& from, const char* name) {
    const auto found = from.find(name);
    if (found == from.end() || found->is_null())
        return std::optional<uint64_t>();
    if (!found->is_number_unsigned())
        return nonsense(std::string(name) + " must be a whole number");
    return std::optional(found->get<uint64_t>());
}

std::string texts_of(const std::vector<target_id>& targets) {
    std::vector<std::string> texts;
    for (const target_id& one : targets)
        texts.push_back(one.text());
    return targets.empty() ? std::string(own_choice) : fmt::format("{}", fmt::join(texts, ","));
}

/// Puts the targets of an answer into the one order that records have. What is no target is left for parse_record().
void sort_targets(json& answer) {
    const auto found = answer.find("targets");
    if (found == answer.end() || !found->is_array())
        return;
    std::set<target_id> targets;
    for (const json& one : *found) {
        const auto target =
            one.is_string() ? parse_target(one.get_ref<const std::string&>()) : error{error_code::peer, "no text"};
        if (!target)
            return;
        targets.insert(*target);
    }
    *found = json::array();
    for (const target_id& one : targets)
        found->push_back(one.text());
}

/// What the program printed to the end of its work. `what` is the verb and what follows it.
result<std::string> run_program(const command_source& source, const std::vector<std::string>& what, deadline until,
                                const progress& say) {
    command child;
    child.arguments = {source.program};
    child.arguments.insert(child.arguments.end(), source.arguments.begin(), source.arguments.end());
    child.arguments.insert(child.arguments.end(), what.begin(), what.end());
    auto as = unprivileged("[command] user", source.user, "a site's program does not run as root");
    if (!as)
        return as.failure();
    child.as = std::move(*as);
    const result<account> user = account_of(child.as ? child.as->uid : ::geteuid());
    if (!user)
        return user.failure();
    child.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + user->home, "USER=" + user->name, "LC_ALL=C"};
    child.output_limit = longest_answer + 1; // one more than may be, so that too much is seen
    const result<child_result> ended = amd_gpu::run(child, until, {}, [&](std::string_view line) {
        if (say)
            say(printable(std::string(line)));
    });
    if (!ended)
        return ended.failure();
    if (ended->succeeded())
        return ended->output;
    const std::string said = printable(ended->last_words());
    if (ended->how == child_result::ending::exited || ended->how == child_result::ending::signalled)
        return error{error_code::internal, fmt::format("{} {} {}{}", source.program, what[0], ended->text(),
                                                       said.empty() ? "" : ": " + said)};
    return error{error_code::timed_out,
                 fmt::format("{} {} did not end within the time limit: it {}", source.program, what[0], ended->text())};
}

class command_maker : public realiser {
  public:
    explicit command_maker(const environment& of)
        : name_(of.name)
        , source_(of.program) {}

    result<std::string> digest() override;
    result<realise_plan> plan(const std::vector<target_id>& targets, deadline until, const progress& say) override;
    result<variant> realise(const std::vector<target_id>& targets, const std::string& root, deadline until,
                            const progress& say) override;

  private:
    [[nodiscard]] error within(const error& failure, const char* verb) const {
        return failure.within(source_.program + " " + verb);
    }

    std::string name_;
    command_source source_;
};

/// SHA-256 of a file's content; nothing when there is no regular file of that name.
result<std::optional<std::string>> content_digest(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
        return std::optional<std::string>();
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        return system_error(errno, path);
    const auto digits = sha256_of_file(file.get());
    return digits ? result(std::optional(*digits)) : digits.failure().within(path);
}

result<std::string> command_maker::digest() {
    // Each part with its length before it, so that no two sources run together to the same bytes.
    sha256 sum;
    const auto add = [&](std::string_view label, std::string_view text) {
        sum.add(fmt::format("{} {}\n", label, text.size()));
        sum.add(text);
    };
    const auto program = content_digest(source_.program);
    if (!program)
        return program.failure();
    if (!*program)
        return error{error_code::not_found, source_.program + " is no file"};
    add("program", **program);
    add("environment", name_);
    for (const std::string& argument : source_.arguments) {
        add("argument", argument);
        // A template, a list of packages: of another content another variant is made.
        const auto content = argument.starts_with('/') ? content_digest(argument) : std::optional<std::string>();
        if (!content)
            return content.failure();
        if (*content)
            add("content", **content);
    }
    return sum.digits();
}

result<realise_plan> command_maker::plan(const std::vector<target_id>& targets, deadline until, const progress& say) {
    const auto answer = run_program(source_, {"plan", name_, texts_of(targets)}, until, say);
    if (!answer)
        return answer.failure();
    auto plan = parse_command_plan(*answer);
    return plan ? std::move(plan) : within(plan.failure(), "plan");
}

result<variant> command_maker::realise(const std::vector<target_id>& targets, const std::string& /*root*/,
                                       deadline until, const progress& say) {
    const auto answer = run_program(source_, {"realise", name_, texts_of(targets)}, until, say);
    if (!answer)
        return answer.failure();
    auto made = parse_command_variant(*answer, targets);
    if (!made)
        return within(made.failure(), "realise");
    if (const std::string problem = place_problem(*made); !problem.empty())
        return within({error_code::peer, problem}, "realise");
    made->provenance["program"] = source_.program;
    return made;
}

} // namespace

result<realise_plan> parse_command_plan(std::string_view text) {
    const auto answer = read_answer(text, {"need", "fetches", "builds", "fetch_bytes", "lines"});
    if (!answer)
        return answer.failure();
    realise_plan plan;
    const auto need = answer->find("need");
    bool known = false;
    for (const auto one : {realise_plan::need::ready, realise_plan::need::fetch, realise_plan::need::build,
                           realise_plan::need::unsupported})
        if (need != answer->end() && *need == std::string(name_of(one))) {
            plan.what = one;
            known = true;
        }
    if (!known)
        return nonsense("need must be \"ready\", \"fetch\", \"build\" or \"unsupported\"");
    for (const auto& [name, to] : {std::pair("fetches", &plan.fetches), {"builds", &plan.builds}}) {
        const auto count = number(*answer, name);
        if (!count)
            return count.failure();
        if (count->value_or(0) > UINT32_MAX)
            return nonsense(std::string(name) + " is out of range");
        *to = static_cast<unsigned>(count->value_or(0));
    }
    const auto bytes = number(*answer, "fetch_bytes");
    if (!bytes)
        return bytes.failure();
    plan.fetch_bytes = *bytes;
    const auto lines = answer->find("lines");
    if (lines == answer->end())
        return plan;
    if (!lines->is_array() || lines->size() > most_lines)
        return nonsense(fmt::format("lines must be a list of at most {} texts", most_lines));
    for (const json& line : *lines) {
        if (!line.is_string())
            return nonsense("lines must hold texts");
        plan.lines.push_back(printable(line.get<std::string>()));
    }
    return plan;
}

result<variant> parse_command_variant(std::string_view text, const std::vector<target_id>& asked) {
    auto answer = read_answer(text, {"path", "targets", "edits", "suggests_edits", "provenance"});
    if (!answer)
        return answer.failure();
    sort_targets(*answer);
    // The rest of a record is not the program's to say.
    answer->update({{"schema", variant_schema}, {"environment", "-"}, {"provider", "command"}, {"storage", "prefix"}});
    auto made = parse_record(answer->dump(-1, ' ', false, json::error_handler_t::replace));
    if (!made)
        return nonsense(made.failure().what);
    if (!asked.empty() && made->targets != asked)
        return nonsense(
            fmt::format("the variant is for {}, not for {} as it was asked", texts_of(made->targets), texts_of(asked)));
    made->substitutable = asked.empty();
    return made;
}

result<std::unique_ptr<realiser>> command_realiser(const settings& /*site*/, const environment& of) {
    return std::unique_ptr<realiser>(std::make_unique<command_maker>(of));
}

status release_command_variant(const environment& of, const variant& what, deadline until) {
    const auto answer = run_program(of.program, {"release", of.name, texts_of(what.targets), what.path}, until, {});
    return answer ? success() : status(answer.failure());
}

} // namespace amd_gpu
