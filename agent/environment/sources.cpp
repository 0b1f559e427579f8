// The tables of the definitions that say where variants come from.
#include "environment/sources.hpp"

#include "configuration/values.hpp"
#include "system/minisign.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace amd_gpu {

namespace {

using reader = std::function<void(const toml_entry&)>;

/// Hands every entry of a table to the reader of its key.
void read_table(const toml_entry& table, const std::map<std::string_view, reader>& keys, complaints& wrong) {
    if (table.value.what != toml_value::kind::table)
        return wrong.add(table.line, table.key + " must be a table, [" + table.key + "]");
    for (const toml_entry& entry : table.value.table) {
        const auto known = keys.find(entry.key);
        if (known != keys.end()) {
            known->second(entry);
            continue;
        }
        std::vector<std::string_view> names;
        for (const auto& [name, read] : keys)
            names.push_back(name);
        wrong.unknown(entry, "key in [" + table.key + "]:", names);
    }
}

bool is_line(const toml_value& value) {
    return value.what == toml_value::kind::text && !value.text.empty() && !has_control(value.text);
}

reader text_into(std::string& to, complaints& wrong) {
    return [&](const toml_entry& entry) {
        if (!is_line(entry.value))
            return wrong.add(entry.line, entry.key + " must be a text without control characters");
        to = entry.value.text;
    };
}

reader path_into(std::string& to, complaints& wrong) {
    return [&](const toml_entry& entry) {
        if (!is_line(entry.value) || entry.value.text.front() != '/')
            return wrong.add(entry.line, entry.key + " must be an absolute path");
        to = entry.value.text;
    };
}

reader list_into(std::vector<std::string>& to, complaints& wrong,
                 std::function<std::string(std::string_view)> mistake = {}) {
    return [&, mistake = std::move(mistake)](const toml_entry& entry) {
        if (entry.value.what != toml_value::kind::list ||
            !std::all_of(entry.value.list.begin(), entry.value.list.end(), is_line))
            return wrong.add(entry.line, entry.key + " must be a list of texts");
        for (const toml_value& one : entry.value.list) {
            if (const std::string what = mistake ? mistake(one.text) : std::string(); !what.empty())
                wrong.add(one.line, what);
            to.push_back(one.text);
        }
    };
}

} // namespace

void read_source(const toml_entry& table, guix_source& to, complaints& wrong) {
    read_table(table,
               {{"manifest", path_into(to.manifest, wrong)},
                {"packages", list_into(to.packages, wrong)},
                {"channels", path_into(to.channels, wrong)},
                {"tune", text_into(to.tune, wrong)},
                {"substitute_urls", list_into(to.substitute_urls, wrong)}},
               wrong);
    if (to.manifest.empty() == to.packages.empty())
        wrong.add(table.line, "[guix] must hold either manifest = \"/path/to/manifest.scm\" or packages = [\"...\"]");
}

void read_source(const toml_entry& table, bundle_source& to, complaints& wrong) {
    const auto url_mistake = [](std::string_view url) -> std::string {
        return url.starts_with("https://") || url.starts_with("http://") ? ""
                                                                         : "urls must begin with https:// or http://";
    };
    const auto key_mistake = [](std::string_view key) {
        const std::string mistake = public_key_mistake(key);
        return mistake.empty() ? mistake : "one of keys " + mistake;
    };
    read_table(table,
               {{"urls", list_into(to.urls, wrong, url_mistake)}, {"keys", list_into(to.keys, wrong, key_mistake)}},
               wrong);
    if (to.urls.empty())
        wrong.add(table.line, "[bundle] must hold urls = [\"https://...\"]");
    if (to.keys.empty())
        wrong.add(table.line,
                  "[bundle] must hold keys = [\"RW...\"], the public keys that its index may be signed with");
}

void read_source(const toml_entry& table, command_source& to, complaints& wrong) {
    read_table(table,
               {{"program", path_into(to.program, wrong)},
                {"arguments", list_into(to.arguments, wrong)},
                {"user", text_into(to.user, wrong)}},
               wrong);
    if (to.program.empty())
        wrong.add(table.line, "[command] must hold program = \"/path/to/program\"");
}

} // namespace amd_gpu
