#include "probing/floors.hpp"

#include "configuration/document.hpp"
#include "system/files.hpp"
#include "target/target.hpp"

#include <fmt/format.h>

namespace amd_gpu {
namespace {

using kind = toml_value::kind;

const std::vector<std::string_view> row_keys = {"processor", "probe",         "floor", "unit",
                                                "source",    "compute_units", "links"};

/// A whole number from 1 to `most`; nothing when it is none, which is then said.
std::optional<uint32_t> count_of(const toml_entry& entry, int64_t most, complaints& wrong) {
    const int64_t number = entry.value.integer;
    if (entry.value.what == kind::integer && number >= 1 && number <= most)
        return static_cast<uint32_t>(number);
    wrong.add(entry.line, fmt::format("{} must be a whole number from 1 to {}", entry.key, most));
    return std::nullopt;
}

std::string text_of(const toml_entry& entry, complaints& wrong) {
    if (entry.value.what == kind::text && !entry.value.text.empty())
        return entry.value.text;
    wrong.add(entry.line, fmt::format("{} must be a text", entry.key));
    return {};
}

void read_key(const toml_entry& entry, floor_value& row, complaints& wrong) {
    const toml_value& value = entry.value;
    if (entry.key == "processor") {
        row.processor = text_of(entry, wrong);
        if (!row.processor.empty() && find_processor(row.processor) == nullptr)
            wrong.add(entry.line, fmt::format("\"{}\" is not a known processor", row.processor));
    } else if (entry.key == "probe") {
        row.probe = text_of(entry, wrong);
    } else if (entry.key == "unit") {
        row.unit = text_of(entry, wrong);
    } else if (entry.key == "source") {
        row.source = text_of(entry, wrong);
    } else if (entry.key == "compute_units") {
        row.compute_units = count_of(entry, 4095, wrong);
    } else if (entry.key == "links") {
        row.links = count_of(entry, 63, wrong);
    } else if (entry.key == "floor") {
        const bool number = value.what == kind::integer || value.what == kind::number;
        if (number && value.number > 0)
            row.floor = value.number;
        else
            wrong.add(entry.line, "floor must be a number above 0");
    } else {
        wrong.unknown(entry, "key", row_keys);
    }
}

/// One [[floor]] table, every key checked.
void read_row(const toml_value& table, floor_table& into, complaints& wrong) {
    floor_value row;
    for (const toml_entry& entry : table.table)
        read_key(entry, row, wrong);
    for (const std::string_view needed : {"processor", "probe", "floor", "unit", "source"})
        if (table.find(needed) == nullptr)
            wrong.add(table.line, fmt::format("this floor has no {}", needed));
    into.push_back(std::move(row));
}

status read_floors(const std::string& file, floor_table& table) {
    const result<toml_value> document = read_document(file);
    if (!document)
        return document.failure();
    complaints wrong(file);
    const std::size_t first = table.size();
    for (const toml_entry& entry : document->table) {
        if (entry.key != "floor")
            wrong.unknown(entry, "table", {"floor"});
        else if (entry.value.what != kind::list)
            wrong.add(entry.line, "floor must be a list of tables: [[floor]]");
        else
            for (const toml_value& row : entry.value.list)
                if (row.what == kind::table)
                    read_row(row, table, wrong);
                else
                    wrong.add(row.line, "a floor is a table: [[floor]]");
    }
    if (!wrong.empty())
        return wrong.failure();
    for (std::size_t i = first; i < table.size(); ++i)
        table[i].file = file;
    return success();
}

} // namespace

result<floor_table> load_floors(const std::string& directory) {
    floor_table table;
    for (const auto& name : list_directory(directory)) {
        if (!name.ends_with(".toml"))
            continue;
        if (const auto read = read_floors(directory + "/" + name, table); !read)
            return read.failure();
    }
    return table;
}

const floor_value* find_floor(const floor_table& table, const gcd& die, std::string_view probe) {
    const floor_value* best = nullptr;
    for (const auto& row : table) {
        if (!die.target || row.processor != die.target->processor || row.probe != probe || row.links)
            continue;
        if (row.compute_units && row.compute_units != die.compute_units)
            continue;
        if (best == nullptr || (row.compute_units && !best->compute_units))
            best = &row;
    }
    return best;
}

const floor_value* find_link_floor(const floor_table& table, const gcd& from, uint32_t links) {
    for (const auto& row : table)
        if (from.target && row.processor == from.target->processor && row.probe == "link" && row.links == links)
            return &row;
    return nullptr;
}

} // namespace amd_gpu
