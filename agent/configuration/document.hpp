// A TOML file as plain data with line numbers, and the list of what is wrong with it. Every configuration file of ours
// is read through here, so that all of them report mistakes in one form; the TOML library is seen by document.cpp
// alone.
#pragma once

#include "result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

struct toml_entry;

/// One value. Only the member that belongs to its kind means anything.
struct toml_value {
    enum class kind { text, integer, number, truth, list, table, date };
    kind what = kind::table;
    unsigned line = 0;
    std::string text;
    int64_t integer = 0;
    double number = 0; ///< of an integer too
    bool truth = false;
    std::vector<toml_value> list;
    std::vector<toml_entry> table; ///< in the order of the file

    /// The entry of that name in a table, or null.
    [[nodiscard]] const toml_entry* find(std::string_view key) const;
    /// What it is, for a message: "a text", "a number", ...
    [[nodiscard]] std::string_view kind_text() const;
};

/// A key of a table, where it stands, and what it holds.
struct toml_entry {
    std::string key;
    unsigned line = 0;
    toml_value value;
};

/// Reads the whole file. Errors: not_found; else configuration, "FILE: ..." for one that cannot be read, "FILE:LINE:
/// ..." for one that is not TOML (a key given twice is among these).
result<toml_value> read_document(const std::string& file);

/// What is wrong with one file: all of it, so that an administrator mends it in one go.
class complaints {
  public:
    explicit complaints(std::string file)
        : file_(std::move(file)) {}

    /// Line 0: the file as a whole.
    void add(unsigned line, std::string_view what);
    /// A key or table that does not exist; the nearest of the known names is offered.
    void unknown(const toml_entry& entry, std::string_view kind, const std::vector<std::string_view>& known);
    [[nodiscard]] bool empty() const { return lines_.empty(); }
    /// All of them as one configuration error, sorted by line: "FILE:LINE: what" lines joined by newlines.
    [[nodiscard]] error failure() const;

  private:
    struct complaint {
        unsigned line;
        std::string what;
    };
    std::string file_;
    std::vector<complaint> lines_; // sorted by line
};

} // namespace amd_gpu
