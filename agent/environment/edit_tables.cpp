// Reading of the tables set, unset, prepend and append.
#include "environment/edit_tables.hpp"

#include "configuration/values.hpp"
#include "target/spelling.hpp"

#include <algorithm>

namespace amd_gpu {

namespace {

constexpr std::string_view placeholder = "${prefix}";

/// Why a value cannot be used; empty when it can.
std::string_view mistake(const edit& change) {
    if (has_control(change.value))
        return "holds a control character";
    for (std::size_t at = change.value.find("${"); at != std::string::npos; at = change.value.find("${", at + 1))
        if (change.value.compare(at, placeholder.size(), placeholder) != 0)
            return "holds a \"${\" that does not begin ${prefix}, the only name known";
    if (change.what == edit::kind::unset)
        return {};
    if (change.what != edit::kind::set && change.value.find_first_not_of(':') == std::string::npos)
        return "adds nothing";
    // A relative element here would run or load whatever lies in the directory that a job starts in.
    if (change.name == "PATH" || change.name == "LD_LIBRARY_PATH")
        for (std::size_t start = 0; start <= change.value.size();) {
            const std::size_t end = std::min(change.value.find(':', start), change.value.size());
            if (end == start && change.what == edit::kind::set)
                return "holds an empty element, which means the current directory";
            if (end != start && change.value[start] != '/' && change.value.find(placeholder, start) != start)
                return "holds a relative path";
            start = end + 1;
        }
    return too_long(change, std::nullopt) ? "is longer than Linux allows" : std::string_view();
}

} // namespace

void edit_tables::add(edit::kind what, const std::string& name, unsigned line, std::string value) {
    if (!may_edit(name))
        return wrong_.add(line, quoted(name) + " may not be edited by an environment");
    const edit change{what, name, std::move(value)};
    if (const std::string_view why = mistake(change); !why.empty())
        return wrong_.add(line, "the value of " + name + " " + std::string(why));
    const edit::kind opposite = what == edit::kind::set ? edit::kind::unset : edit::kind::set;
    if ((what == edit::kind::set || what == edit::kind::unset) && found_.contains({opposite, name}))
        return wrong_.add(line, name + " is both set and unset");
    if (!found_.emplace(std::pair(what, name), change.value).second)
        wrong_.add(line, name + " is named twice");
}

void edit_tables::read_names(const toml_value& from) {
    if (from.what != toml_value::kind::list)
        return wrong_.add(from.line, "unset must be a list of names, such as [\"NAME\"]");
    for (const toml_value& name : from.list)
        if (name.what == toml_value::kind::text)
            add(edit::kind::unset, name.text, name.line, "");
        else
            wrong_.add(name.line, "unset must hold names, not " + std::string(name.kind_text()));
}

void edit_tables::read_values(edit::kind what, const toml_value& from) {
    const std::string table(text_of(what));
    if (from.what != toml_value::kind::table)
        return wrong_.add(from.line, table + " must be a table, such as { NAME = \"value\" }");
    for (const toml_entry& entry : from.table) {
        const toml_value& value = entry.value;
        const bool list = value.what == toml_value::kind::list && what != edit::kind::set;
        const bool texts = std::all_of(value.list.begin(), value.list.end(),
                                       [](const toml_value& one) { return one.what == toml_value::kind::text; });
        if (value.what != toml_value::kind::text && !(list && texts)) {
            wrong_.add(entry.line, table + "." + entry.key + " must be a text" +
                                       (what == edit::kind::set ? "" : " or a list of texts") + ", not " +
                                       std::string(list ? "a list of something else" : value.kind_text()));
            continue;
        }
        std::string joined = value.text;
        for (const toml_value& one : value.list)
            joined += (joined.empty() ? "" : ":") + one.text;
        add(what, entry.key, entry.line, std::move(joined));
    }
}

void edit_tables::read(const toml_entry& entry) {
    const std::optional<edit::kind> what = parse_edit_kind(entry.key);
    if (!what || *what == edit::kind::fallback)
        wrong_.unknown(entry, "table of edits", {names.begin(), names.end()});
    else if (*what == edit::kind::unset)
        read_names(entry.value);
    else
        read_values(*what, entry.value);
}

std::vector<edit> edit_tables::edits() const {
    std::vector<edit> all;
    // Prepending comes last: a directory that a file prepends and appends ends up in front.
    for (const edit::kind what : {edit::kind::unset, edit::kind::set, edit::kind::append, edit::kind::prepend})
        for (const auto& [key, value] : found_)
            if (key.first == what)
                all.push_back({what, key.second, value});
    return all;
}

edit expanded(edit change, std::string_view prefix) {
    for (std::size_t at = change.value.find(placeholder); at != std::string::npos;
         at = change.value.find(placeholder, at + prefix.size()))
        change.value.replace(at, placeholder.size(), prefix);
    return change;
}

} // namespace amd_gpu
