// Activation edits: typed changes to environment variables, as plain data. The agent makes them, the plugin applies
// them. Pure, and nothing but the standard library, because the plugin links it; applying edits twice is the same as
// once.
#pragma once

#include "result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace amd_gpu {

/// One change to one variable.
struct edit {
    enum class kind { set, unset, prepend, append, fallback };
    kind what = kind::set;
    std::string name;
    std::string value; ///< for prepend and append: a colon-separated list

    bool operator==(const edit&) const = default;
    /// "prepend PATH=/opt/env/bin" or "unset NAME", the form that travels to the plugin.
    [[nodiscard]] std::string text() const;
    /// Reads that form. Errors are usage errors; whether the name may be edited is a question of its own (may_edit).
    static result<edit> parse(std::string_view text);
};

/// The word of that kind in the text form: "set", "unset", "prepend", "append", "default".
std::string_view text_of(edit::kind what);
std::optional<edit::kind> parse_edit_kind(std::string_view text);

/// "NAME=value" and its final zero byte may take this much (Linux, MAX_ARG_STRLEN); exec drops what is longer.
constexpr std::size_t longest_variable = 128UL * 1024;

/// What a variable holds after one edit; a fallback ("default") counts only where there was nothing. `current` is
/// nothing when it is not set; so is the answer when it is to be unset.
/// - Lists lose empty elements (an empty element of PATH is the current directory) and repeated ones: the first stays,
/// so
///   that what is prepended moves to the front and a second application changes nothing.
/// - PATH that was not set, or empty, keeps the system's default behind what is prepended.
/// - In MANPATH and INFOPATH an empty element stands for the system's own list: one of them stays in its place, and a
///   variable that was not set gets one behind what is prepended.
/// - An outcome that would not fit into longest_variable leaves the variable as it is; too_long() tells.
std::optional<std::string> applied(const edit& change, const std::optional<std::string>& current);

/// Whether applied() left the variable as it is because the outcome would be too long for exec.
bool too_long(const edit& change, const std::optional<std::string>& current);

/// Whether an environment may set this variable. Names that belong to Slurm, to the GPU masks, to the loader, to the
/// shell or to the user's identity may not be touched, nor anything that is not a portable name
/// ([A-Za-z_][A-Za-z0-9_]*).
bool may_edit(std::string_view name);

} // namespace amd_gpu
