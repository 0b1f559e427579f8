// Activation edits as people write them: the TOML tables set, unset, prepend and append, in an environment's definition
// and in the activate.toml of a variant. Reads and checks; applies nothing.
#pragma once

#include "configuration/document.hpp"
#include "environment/edits.hpp"

#include <array>
#include <map>

namespace amd_gpu {

/// Collects the edits of one file. What is wrong goes to the complaints that it was made with.
class edit_tables {
  public:
    static constexpr std::array<std::string_view, 4> names{"set", "unset", "prepend", "append"};

    explicit edit_tables(complaints& wrong)
        : wrong_(wrong) {}

    /// Reads one of the four tables; an entry of another name is a mistake.
    void read(const toml_entry& entry);
    /// All edits read: unset, set, append, then prepend, each sorted by name. Values may still hold "${prefix}".
    [[nodiscard]] std::vector<edit> edits() const;

  private:
    void read_names(const toml_value& from);
    void read_values(edit::kind what, const toml_value& from);
    void add(edit::kind what, const std::string& name, unsigned line, std::string value);

    complaints& wrong_;
    std::map<std::pair<edit::kind, std::string>, std::string> found_;
};

/// The same edit with every "${prefix}" in its value replaced.
edit expanded(edit change, std::string_view prefix);

} // namespace amd_gpu
