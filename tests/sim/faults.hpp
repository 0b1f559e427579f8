// The fault file of a simulated node: its grammar and one parser, shared by the program that writes the node's files
// and by the simulated HIP runtime. It owns the table of kinds; it depends on the standard library alone and does
// nothing with a fault itself.
//
// Grammar: one fault a line, `KIND gcd=N [key=value...]`; `#` starts a comment; gcd counts all GPUs of the node in the
// order of their PCI addresses. `init code=N` is the one kind without a gcd.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// One line of a fault file, already checked: every parameter that its kind needs is there and in range.
struct fault {
    std::string kind;                              ///< "hbm", "link", "missing", ...
    int gcd = -1;                                  ///< index in PCI order; -1 for a kind that names no GCD
    std::map<std::string, std::string> parameters; ///< all other key=value pairs, as written
    int line = 0;                                  ///< of the file, from 1

    /// The value of KEY as a number (decimal, or 0x...); FALLBACK when the line does not give it.
    [[nodiscard]] double number(std::string_view key, double fallback = 0) const;
    /// The value of KEY as written; FALLBACK when the line does not give it.
    [[nodiscard]] std::string text(std::string_view key, std::string_view fallback = "") const;
};

/// What a fault file says. `line` is 0 when it is well formed; else the number of the first bad line and, in `problem`,
/// what is wrong with it (no fault is then returned).
struct fault_list {
    std::vector<fault> faults;
    int line = 0;
    std::string problem;

    [[nodiscard]] bool good() const { return problem.empty(); }
};

/// Parses the text of a fault file.
fault_list parse_faults(std::string_view text);

/// Reads and parses the file at PATH; a file that cannot be read is a problem on line 0.
fault_list read_faults(const std::string& path);

} // namespace sim
