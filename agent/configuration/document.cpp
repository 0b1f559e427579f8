// The edge of toml++: parses with its exceptions switched off and copies the tree into plain data.
#include "configuration/document.hpp"

#include "system/files.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <iterator>
#include <sys/stat.h>
#include <tuple>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace amd_gpu {

namespace {

toml_value copied(const toml::node& from) {
    using kind = toml_value::kind;
    toml_value to;
    to.line = from.source().begin.line;
    if (const toml::table* table = from.as_table()) {
        to.what = kind::table;
        for (const auto& [key, value] : *table)
            to.table.push_back({std::string(key.str()), key.source().begin.line, copied(value)});
        // The library sorts by name; a person reads by line.
        std::sort(to.table.begin(), to.table.end(), [](const toml_entry& one, const toml_entry& other) {
            return std::tie(one.line, one.key) < std::tie(other.line, other.key);
        });
    } else if (const toml::array* array = from.as_array()) {
        to.what = kind::list;
        std::transform(array->begin(), array->end(), std::back_inserter(to.list), copied);
    } else if (const auto* text = from.as_string()) {
        to.what = kind::text;
        to.text = text->get();
    } else if (const auto* integer = from.as_integer()) {
        to.what = kind::integer;
        to.integer = integer->get();
        to.number = static_cast<double>(to.integer);
    } else if (const auto* number = from.as_floating_point()) {
        to.what = kind::number;
        to.number = number->get();
    } else if (const auto* truth = from.as_boolean()) {
        to.what = kind::truth;
        to.truth = truth->get();
    } else {
        to.what = kind::date;
    }
    return to;
}

} // namespace

const toml_entry* toml_value::find(std::string_view key) const {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const toml_entry& entry) { return entry.key == key; });
    return found == table.end() ? nullptr : &*found;
}

std::string_view toml_value::kind_text() const {
    switch (what) {
    case kind::text:
        return "a text";
    case kind::integer:
        return "a whole number";
    case kind::number:
        return "a number";
    case kind::truth:
        return "true or false";
    case kind::list:
        return "a list";
    case kind::table:
        return "a table";
    case kind::date:
        break;
    }
    return "a date or time";
}

result<toml_value> read_document(const std::string& file) {
    // Opening a pipe would wait for its writer.
    struct stat info{};
    if (::stat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        complaints wrong(file);
        wrong.add(0, "not a regular file");
        return wrong.failure();
    }
    const result<std::string> content = read_file(file);
    if (!content) {
        error failure = content.failure();
        if (failure.code != error_code::not_found)
            failure.code = error_code::configuration;
        return failure;
    }
    const toml::parse_result parsed = toml::parse(std::string_view(*content), std::string_view(file));
    if (!parsed) {
        complaints wrong(file);
        wrong.add(parsed.error().source().begin.line, parsed.error().description());
        return wrong.failure();
    }
    return copied(parsed.table());
}

void complaints::add(unsigned line, std::string_view what) {
    const auto behind = std::upper_bound(lines_.begin(), lines_.end(), line,
                                         [](unsigned mine, const complaint& other) { return mine < other.line; });
    lines_.insert(behind, {line, std::string(what)});
}

void complaints::unknown(const toml_entry& entry, std::string_view kind, const std::vector<std::string_view>& known) {
    nearest_name nearest(entry.key);
    for (const std::string_view name : known)
        nearest.consider(name);
    std::string what = "unknown " + std::string(kind) + " " + quoted(entry.key);
    if (const auto best = nearest.best())
        what += "; did you mean " + std::string(*best) + "?";
    add(entry.line, what);
}

error complaints::failure() const {
    std::string text;
    for (const complaint& one : lines_) {
        if (!text.empty())
            text += '\n';
        text += file_ + ":" + (one.line == 0 ? "" : std::to_string(one.line) + ":") + " " + one.what;
    }
    return {error_code::configuration, text};
}

} // namespace amd_gpu
