#include "spank/activate.hpp"

#include "spank/bounded.hpp"
#include "spank/library_path.hpp"
#include "spank/program.hpp"
#include "spank/task_environment.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sys/resource.h>

namespace amd_gpu {
namespace {

using namespace std::chrono_literals;
constexpr auto look_limit = 2000ms;
constexpr auto check_limit = 2000ms;
constexpr auto wait_limit = look_limit + check_limit + 1000ms; // for the first task, which may be a little late

constexpr const char* library_variable = "LD_LIBRARY_PATH";

std::vector<std::string> texts_of(char* const* list) {
    std::vector<std::string> texts;
    for (; list != nullptr && *list != nullptr; ++list)
        texts.emplace_back(*list);
    return texts;
}

std::vector<std::string> task_variables(spank_t spank) {
    char** list = nullptr;
    return spank_get_item(spank, S_JOB_ENV, &list) == ESPANK_SUCCESS ? texts_of(list) : std::vector<std::string>{};
}

std::vector<std::string> task_words(spank_t spank) {
    int count = 0;
    char** list = nullptr;
    if (spank_get_item(spank, S_JOB_ARGV, &count, &list) != ESPANK_SUCCESS || list == nullptr || count < 0)
        return {};
    return {list, list + count};
}

/// Puts other ROCms behind the environment. It is looked at as the user and with a limit: these directories are the
/// user's own and may lie anywhere.
void order_libraries(spank_t spank, const std::string& variant, activation_report& report) {
    const auto before = task_variable(spank, library_variable);
    const auto directories = elements_of(before.value_or(""));
    if (std::all_of(directories.begin(), directories.end(),
                    [&](const std::string& directory) { return lies_below(directory, variant); }))
        return;
    const auto places = run_bounded(look_limit, [&] { write_out(look_at_libraries(directories, variant)); });
    if (!places || places->size() != directories.size()) {
        report.lines.emplace_back("the directories in LD_LIBRARY_PATH do not answer, so it stays as it is");
        return;
    }
    if (places->find(static_cast<char>(library_place::foreign)) == std::string::npos)
        return;
    const auto after = with_foreign_last(directories, *places);
    if (after == *before)
        return;
    report.details.push_back("LD_LIBRARY_PATH before: " + *before);
    report.details.push_back("LD_LIBRARY_PATH after:  " + after);
    const auto what = after.empty() ? edit::kind::unset : edit::kind::set;
    if (!apply_to_task(spank, {{what, library_variable, after}}).empty())
        report.lines.emplace_back("LD_LIBRARY_PATH could not be changed");
}

void check_libraries(spank_t spank, const std::string& variant, const activation_wish& wish,
                     activation_report& report) {
    const auto words = task_words(spank);
    if (words.empty())
        return;
    const auto check = check_program(words.front(), task_variables(spank), variant, check_limit);
    if (!check) {
        report.details.push_back("the libraries of " + words.front() + " could not be checked in time");
        return;
    }
    report.details.insert(report.details.end(), check->remarks.begin(), check->remarks.end());
    report.lines.insert(report.lines.end(), check->warnings.begin(), check->warnings.end());
    if (check->fault.empty())
        return;
    // A run path is the word of whoever linked the program; a site's default environment does not overrule it.
    if (wish.check == loader_check::stop && (wish.named || !check->linked_so))
        report.fault = check->fault;
    else
        report.lines.push_back(check->fault);
}

/// The stack's limit that the program will have. Slurm gives a task its user's limits only after this, from variables
/// that srun made, with a U before the number for an explicit --propagate (slurmd/slurmstepd/ulimits.c). What cannot be
/// read counts as no limit, because a job must not end for a guess.
std::size_t stack_limit(spank_t spank) {
    if (const auto text = task_variable(spank, "SLURM_RLIMIT_STACK")) {
        const char* digits = text->c_str() + (text->starts_with('U') ? 1 : 0);
        const char* const end = text->c_str() + text->size();
        std::size_t bytes = 0;
        const auto [stopped, problem] = std::from_chars(digits, end, bytes);
        return problem == std::errc{} && stopped == end ? bytes : RLIM_INFINITY;
    }
    rlimit own{};
    return ::getrlimit(RLIMIT_STACK, &own) == 0 ? own.rlim_cur : RLIM_INFINITY;
}

} // namespace

std::optional<std::string> variant_in(const std::vector<edit>& edits) {
    for (const auto& change : edits)
        if (change.what == edit::kind::set && change.name == variant_variable)
            return change.value;
    return std::nullopt;
}

std::vector<edit> leaving_edits(const std::vector<edit>& edits, const std::string& old,
                                const std::function<std::optional<std::string>(const std::string&)>& value) {
    std::vector<edit> made;
    if (!old.starts_with('/') || old.size() == 1 || old == variant_in(edits))
        return made;
    for (const auto& change : edits) {
        if (change.what != edit::kind::prepend && change.what != edit::kind::append)
            continue;
        const auto current = value(change.name);
        if (!current || current->find(old) == std::string::npos)
            continue;
        auto left = without_below(*current, old);
        if (left.empty())
            made.push_back({edit::kind::unset, change.name, ""});
        else
            made.push_back({edit::kind::set, change.name, std::move(left)});
    }
    return made;
}

activation_report finish_activation(spank_t spank, const std::string& variant, const activation_wish& wish,
                                    const first_task& all) {
    activation_report report;
    order_libraries(spank, variant, report);
    if (wish.check == loader_check::off)
        return report;
    if (wish.first) {
        check_libraries(spank, variant, wish, report);
        all.tell(report.fault.empty());
    } else if (!all.may_go_on(wait_limit)) {
        report.fault = "the first task says why";
    }
    return report;
}

std::string too_large(spank_t spank) {
    // Linux counts the texts with their ends and a pointer for each, against a quarter of the stack's limit, within
    // these bounds (fs/exec.c, bprm_stack_limits).
    constexpr std::size_t least = 128UL << 10;
    constexpr std::size_t most = 6UL << 20;
    const auto limit = std::clamp<std::size_t>(stack_limit(spank) / 4, least, most);
    std::size_t size = 0;
    for (const auto& list : {task_variables(spank), task_words(spank)})
        for (const auto& text : list)
            size += text.size() + 1 + sizeof(char*);
    if (size <= limit)
        return {};
    return "the environment and the arguments of this task take " + std::to_string(size) +
           " bytes, and Linux starts no " + "program with more than " + std::to_string(limit) +
           " (a quarter of ulimit -s); hand on less with --export, or raise the limit";
}

} // namespace amd_gpu
