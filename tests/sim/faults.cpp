// The table of fault kinds and the parser that checks a fault file against it (see faults.hpp).
#include "tests/sim/faults.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace sim {
namespace {

struct parameter {
    std::string_view key;
    bool needed;
    double least; ///< for numbers
    double most;
    bool whole;             ///< a number without a fraction
    std::string_view words; ///< not empty: the value is one of these, separated by '|'; "*" is any word
};

struct kind {
    std::string_view name;
    bool names_gcd;
    std::vector<parameter> parameters;
};

constexpr double most_code = 2147483647.0;
constexpr int most_gcds = 256;

const std::vector<kind>& kinds() {
    static const std::vector<kind> table = {
        {"hbm", true, {{"scale", true, 0.001, 2, false, ""}}},
        {"clock", true, {{"scale", true, 0.001, 2, false, ""}}},
        {"link", true, {{"to", true, 0, most_gcds - 1, true, ""}, {"scale", true, 0, 2, false, ""}}},
        {"flip", true, {{"probe", true, 0, 0, false, "*"}, {"bit", true, 0, 127, true, ""}}},
        {"hang", true, {{"at", true, 0, 0, false, "init|launch|copy"}, {"unkillable", false, 0, 1, true, ""}}},
        {"error", true, {{"call", true, 0, 0, false, "*"}, {"code", true, 1, most_code, true, ""}}},
        {"lost", true, {{"after", true, 0, 1e12, true, ""}}},
        {"missing", true, {}},
        {"ras",
         true,
         {{"block", true, 0, 0, false, "umc|sdma|gfx|mmhub|pcie_bif|hdp|xgmi_wafl"},
          {"ue", false, 0, 1e15, true, ""},
          {"ce", false, 0, 1e15, true, ""}}},
        {"pcie", true, {{"width", true, 1, 16, true, ""}}},
        {"temperature", true, {{"c", true, -40, 200, false, ""}}},
        {"ghost_memory", true, {{"bytes", true, 0, 1e15, true, ""}}},
        {"init", false, {{"code", true, 1, most_code, true, ""}}},
    };
    return table;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = text.find_first_not_of(separators, at)) != std::string_view::npos;) {
        const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
        words.emplace_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

std::optional<double> as_number(const std::string& text) {
    if (text.empty() || std::strchr("0123456789.-", text.front()) == nullptr) {
        return std::nullopt; // strtod would also take "nan", "inf" and leading blanks
    }
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    return *end == '\0' ? std::optional(value) : std::nullopt;
}

std::string plain(double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') {
        text.pop_back();
    }
    return text;
}

/// What is wrong with VALUE as the parameter WANTED; empty when nothing is.
std::string wrong_value(const parameter& wanted, const std::string& value) {
    const std::string key(wanted.key);
    if (wanted.words == "*") {
        return value.empty() ? key + "= needs a value" : "";
    }
    if (!wanted.words.empty()) {
        const auto words = split(wanted.words, "|");
        return std::find(words.begin(), words.end(), value) != words.end()
                   ? ""
                   : key + "=" + value + " is none of " + std::string(wanted.words);
    }
    const auto number = as_number(value);
    if (!number || (wanted.whole && *number != static_cast<double>(static_cast<long long>(*number)))) {
        return key + "=" + value + " is not a " + (wanted.whole ? "whole number" : "number");
    }
    if (*number < wanted.least || *number > wanted.most) {
        return key + "=" + value + " is not between " + plain(wanted.least) + " and " + plain(wanted.most);
    }
    return "";
}

/// Parses one line's words into RESULT; returns what is wrong with them.
std::string parse_words(const std::vector<std::string>& words, fault& result) {
    const auto& table = kinds();
    const auto found = std::find_if(table.begin(), table.end(), [&](const kind& k) { return k.name == words.front(); });
    if (found == table.end()) {
        return "unknown kind of fault '" + words.front() + "'";
    }
    result.kind = words.front();
    std::vector<parameter> known = found->parameters;
    if (found->names_gcd) {
        known.push_back({"gcd", true, 0, most_gcds - 1, true, ""});
    }
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        const std::string key = words[i].substr(0, equals);
        const auto wanted = std::find_if(known.begin(), known.end(), [&](const parameter& p) { return p.key == key; });
        if (equals == std::string::npos || wanted == known.end()) {
            return "'" + words[i] + "' is no parameter of " + result.kind;
        }
        const std::string value = words[i].substr(equals + 1);
        if (const std::string wrong = wrong_value(*wanted, value); !wrong.empty()) {
            return wrong;
        }
        if (!result.parameters.emplace(key, value).second) {
            return key + "= is given twice";
        }
    }
    for (const parameter& p : known) {
        if (p.needed && result.parameters.count(std::string(p.key)) == 0) {
            return result.kind + " needs " + std::string(p.key) + "=";
        }
    }
    if (found->names_gcd) {
        result.gcd = static_cast<int>(result.number("gcd"));
        result.parameters.erase("gcd");
    }
    return "";
}

} // namespace

double fault::number(std::string_view key, double fallback) const {
    const auto found = parameters.find(std::string(key));
    return found == parameters.end() ? fallback : as_number(found->second).value_or(fallback);
}

std::string fault::text(std::string_view key, std::string_view fallback) const {
    const auto found = parameters.find(std::string(key));
    return found == parameters.end() ? std::string(fallback) : found->second;
}

fault_list parse_faults(std::string_view text) {
    fault_list list;
    int line = 0;
    while (!text.empty()) {
        ++line;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const auto words = split(text.substr(0, std::min(text.find('#'), end)), " \t\r");
        text.remove_prefix(std::min(end + 1, text.size()));
        if (words.empty()) {
            continue;
        }
        fault next;
        if (std::string wrong = parse_words(words, next); !wrong.empty()) {
            return {{}, line, std::move(wrong)};
        }
        next.line = line;
        list.faults.push_back(std::move(next));
    }
    return list;
}

fault_list read_faults(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return {{}, 0, std::string("cannot be read: ") + std::strerror(errno)};
    }
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return parse_faults(text);
}

} // namespace sim
