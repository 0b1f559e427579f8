// Data as Guile writes it: lists, symbols, strings, numbers, booleans. Pure. It reads what Guix stores in a profile's
// manifest and in channels.scm, and evaluates nothing.
#pragma once

#include "result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

struct scheme_value {
    enum class kind { list, text, symbol }; ///< numbers, #t and #f are symbols of their spelling
    kind what = kind::list;
    std::string word; ///< of a text or a symbol
    std::vector<scheme_value> items;

    [[nodiscard]] bool is_symbol(std::string_view name) const { return what == kind::symbol && word == name; }
    [[nodiscard]] bool is_text() const { return what == kind::text; }
    /// In a list of lists, the first whose first item is this symbol, or null: (name ...) among ((a ...) (name ...)).
    [[nodiscard]] const scheme_value* entry(std::string_view name) const;
};

/// Reads all the data of a text. Quote marks ('x, `x, ,x) stand before their datum and are dropped; comments are
/// skipped. Errors (configuration): unbalanced, an unfinished string, deeper than 100 lists, longer than 64 MiB.
result<std::vector<scheme_value>> read_scheme(std::string_view text);

/// A text as a string literal of Guile.
std::string scheme_text(std::string_view text);

} // namespace amd_gpu
