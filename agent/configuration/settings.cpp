// Reading of the settings file by the table of all settings, and its error messages.
#include "configuration/setting_table.hpp"

#include "configuration/values.hpp"
#include "system/files.hpp"
#include "target/spelling.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace amd_gpu {

namespace {

// ---- messages ----

/// What a key takes, to be read after "must be".
std::string expectation(const setting_key& key) {
    if (key.type == "path")
        return fmt::format("an absolute path of at most {} bytes{}", key.highest, key.lowest > 0 ? "" : ", or empty");
    if (key.type == "text")
        return fmt::format("a text of {} to {} bytes", key.lowest, key.highest);
    if (key.type == "truth")
        return "true or false";
    if (key.type == "count")
        return fmt::format("a whole number from {} to {}", key.lowest, key.highest);
    if (key.type == "seconds")
        return fmt::format("a number of seconds from {} to {}", key.lowest, key.highest);
    if (key.type == "bytes")
        return fmt::format("a size from {} to {}, such as \"64MiB\"", bytes_text(static_cast<uint64_t>(key.lowest)),
                           bytes_text(static_cast<uint64_t>(key.highest)));
    if (key.type == "cores")
        return fmt::format("a list of hardware threads up to {}, such as \"0-3,8\"", key.highest);
    return "one of \"" + fmt::format("{}", fmt::join(split(key.type, '|'), "\", \"")) + "\"";
}

/// What stands in the file instead, to be read after "not".
std::string found(const toml_value& value) {
    switch (value.what) {
    case toml_value::kind::text:
        return quoted(value.text);
    case toml_value::kind::integer:
        return std::to_string(value.integer);
    case toml_value::kind::number:
        return fmt::format("{}", value.number);
    case toml_value::kind::truth:
        return value.truth ? "true" : "false";
    default:
        return std::string(value.kind_text());
    }
}

void read_table(const toml_entry& table, settings& to, complaints& wrong) {
    for (const toml_entry& entry : table.value.table) {
        const auto is_this = [&](const setting_row& one) {
            return one.key.table == table.key && one.key.name == entry.key;
        };
        const auto known = std::find_if(setting_rows().begin(), setting_rows().end(), is_this);
        if (known == setting_rows().end()) {
            std::vector<std::string_view> names;
            for (const setting_row& one : setting_rows())
                if (one.key.table == table.key)
                    names.push_back(one.key.name);
            wrong.unknown(entry, "key in [" + table.key + "]:", names);
        } else if (!known->read(to, known->key, entry.value)) {
            wrong.add(entry.line, fmt::format("{}.{} must be {}, not {}", table.key, entry.key, expectation(known->key),
                                              found(entry.value)));
        }
    }
}

} // namespace

const std::vector<setting_key>& setting_keys() {
    static const std::vector<setting_key> keys = [] {
        std::vector<setting_key> all;
        for (const setting_row& one : setting_rows())
            all.push_back(one.key);
        return all;
    }();
    return keys;
}

result<settings> load_settings(const std::string& path) {
    const result<toml_value> document = read_document(path);
    settings values;
    if (!document) {
        if (document.failure().code == error_code::not_found)
            return values;
        return document.failure();
    }

    complaints wrong(path);
    std::vector<std::string_view> tables;
    for (const setting_row& one : setting_rows())
        if (tables.empty() || tables.back() != one.key.table)
            tables.push_back(one.key.table);
    for (const toml_entry& entry : document->table) {
        if (entry.value.what != toml_value::kind::table)
            wrong.add(entry.line, fmt::format("{} stands outside of the tables [{}]", quoted(entry.key),
                                              fmt::join(tables, "], [")));
        else if (std::find(tables.begin(), tables.end(), entry.key) == tables.end())
            wrong.unknown(entry, "table", tables);
        else
            read_table(entry, values, wrong);
    }
    if (values.probe_min > values.probe_default || values.probe_default > values.probe_max) {
        const toml_entry* probe = document->find("probe");
        wrong.add(probe != nullptr ? probe->line : 0,
                  fmt::format("probe.default (\"{}\") must lie between probe.min (\"{}\") and probe.max (\"{}\")",
                              text_of(values.probe_default), text_of(values.probe_min), text_of(values.probe_max)));
    }
    if (!wrong.empty())
        return wrong.failure();
    return values;
}

} // namespace amd_gpu
