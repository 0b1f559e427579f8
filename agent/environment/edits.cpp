// Applying, writing and reading activation edits. Pure; linked into the plugin, so the tables here are constant data
// and nothing runs when the library is loaded.
#include "environment/edits.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

namespace amd_gpu {

namespace {

// What execvp() searches when PATH is not set is not enough to find a site's tools; this is Debian's and RHEL's
// default.
constexpr std::string_view default_path = "/usr/local/bin:/usr/bin:/bin";

constexpr std::array<std::string_view, 5> kind_names{"set", "unset", "prepend", "append", "default"};

// Names that are not an environment's business. A trailing '*' stands for any rest.
constexpr std::string_view refused[] = {
    // which GPUs a task sees is Slurm's and our own affair, and a false processor name voids the match
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION*",
    "RSMI_DEBUG_*",
    // code that the loader or libc pulls into every process (LD_LIBRARY_PATH and LD_RUN_PATH are let through below)
    "LD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "MALLOC_TRACE",
    // Slurm and the start of parallel programs
    "SLURM_*",
    "SLURMD_*",
    "SRUN_*",
    "SBATCH_*",
    "SALLOC_*",
    "SPANK_*",
    "PMI*",
    // who the user is
    "HOME",
    "USER",
    "LOGNAME",
    "USERNAME",
    "SHELL",
    "MAIL",
    "PWD",
    "OLDPWD",
    "TERM",
    "DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "KRB5CCNAME",
    "SSH_*",
    "LANG",
    "LANGUAGE",
    "LC_*",
    // how a shell reads its script
    "IFS",
    "ENV",
    "BASH_ENV",
    "BASHOPTS",
    "SHELLOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "PS4",
    "PROMPT_COMMAND",
};

bool is_name(std::string_view name) {
    const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; };
    return !name.empty() && letter(name.front()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_refused(std::string_view name) {
    return std::any_of(std::begin(refused), std::end(refused), [&](std::string_view pattern) {
        return pattern.back() == '*' ? name.starts_with(pattern.substr(0, pattern.size() - 1)) : name == pattern;
    });
}

bool has_default_element(std::string_view name) {
    return name == "MANPATH" || name == "INFOPATH";
}

/// A list under construction. The set keeps it linear: a user's variable may hold tens of thousands of elements.
class element_list {
  public:
    void add(std::string_view list, bool keep_empty) {
        for (std::size_t start = 0; start <= list.size();) {
            const std::size_t end = std::min(list.find(':', start), list.size());
            const std::string_view element = list.substr(start, end - start);
            if ((keep_empty || !element.empty()) && seen_.insert(element).second)
                elements_.push_back(element);
            start = end + 1;
        }
    }

    [[nodiscard]] std::string text() const {
        std::string text;
        for (std::size_t i = 0; i < elements_.size(); ++i) {
            if (i != 0)
                text += ':';
            text += elements_[i];
        }
        return text;
    }

  private:
    std::vector<std::string_view> elements_;
    std::unordered_set<std::string_view> seen_;
};

std::string extended_list(const edit& change, const std::optional<std::string>& current) {
    std::string_view old = current ? std::string_view(*current) : std::string_view();
    if (change.name == "PATH" && old.empty())
        old = default_path;
    element_list elements;
    // An empty element that the edit itself brings is always an accident; only one that was there has a meaning.
    if (change.what == edit::kind::prepend)
        elements.add(change.value, false);
    elements.add(old, has_default_element(change.name));
    if (change.what == edit::kind::append)
        elements.add(change.value, false);
    return elements.text();
}

std::optional<std::string> outcome(const edit& change, const std::optional<std::string>& current) {
    switch (change.what) {
    case edit::kind::set:
        return change.value;
    case edit::kind::unset:
        return std::nullopt;
    case edit::kind::fallback:
        return current ? current : change.value;
    case edit::kind::prepend:
    case edit::kind::append:
        break;
    }
    return extended_list(change, current);
}

bool fits(const edit& change, const std::optional<std::string>& value) {
    return !value || change.name.size() + 1 + value->size() + 1 <= longest_variable;
}

} // namespace

std::string_view text_of(edit::kind what) {
    return kind_names[static_cast<std::size_t>(what)];
}

std::optional<edit::kind> parse_edit_kind(std::string_view text) {
    const auto found = std::find(kind_names.begin(), kind_names.end(), text);
    if (found == kind_names.end())
        return std::nullopt;
    return static_cast<edit::kind>(found - kind_names.begin());
}

std::string edit::text() const {
    std::string text(text_of(what));
    text += ' ';
    text += name;
    if (what != kind::unset) {
        text += '=';
        text += value;
    }
    return text;
}

result<edit> edit::parse(std::string_view text) {
    const auto wrong = [&](const char* why) {
        return error{error_code::usage, "\"" + std::string(text.substr(0, 80)) + "\" is not an edit: " + why};
    };
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos)
        return wrong("it has no variable");
    const std::optional<kind> what = parse_edit_kind(text.substr(0, space));
    if (!what)
        return wrong("it begins with none of set, unset, prepend, append, default");
    const std::string_view rest = text.substr(space + 1);
    const std::size_t equals = rest.find('=');
    if ((equals == std::string_view::npos) != (*what == kind::unset))
        return wrong(*what == kind::unset ? "unset takes no value" : "it has no value");
    const std::string_view name = rest.substr(0, equals);
    if (!is_name(name))
        return wrong("the variable's name may hold letters, digits and _ only");
    const std::string_view value = *what == kind::unset ? std::string_view() : rest.substr(equals + 1);
    if (value.find('\0') != std::string_view::npos)
        return wrong("a zero byte cannot be in a variable");
    return edit{*what, std::string(name), std::string(value)};
}

std::optional<std::string> applied(const edit& change, const std::optional<std::string>& current) {
    std::optional<std::string> value = outcome(change, current);
    return fits(change, value) ? value : current;
}

bool too_long(const edit& change, const std::optional<std::string>& current) {
    return !fits(change, outcome(change, current));
}

bool may_edit(std::string_view name) {
    // Of the loader's variables these two are lists of directories and belong to an environment.
    return is_name(name) && (name == "LD_LIBRARY_PATH" || name == "LD_RUN_PATH" || !is_refused(name));
}

} // namespace amd_gpu
