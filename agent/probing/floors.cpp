#include "probing/floors.hpp"

#include "system/files.hpp"
#include "target/target.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

namespace amd_gpu {
namespace {

error at(const std::string& file, const toml::node& where, std::string_view what) {
    return {error_code::configuration, fmt::format("{}:{}: {}", file, where.source().begin.line, what)};
}

/// One [[floor]] table, every key checked.
result<floor_value> read_row(const std::string& file, const toml::table& row) {
    floor_value value;
    value.file = file;
    for (const auto& [key, node] : row) {
        const auto text = node.value_exact<std::string>();
        const auto whole = node.value_exact<int64_t>();
        const auto number = node.value<double>();
        const std::string_view name = key.str();
        if (name == "processor" && text) {
            if (find_processor(*text) == nullptr) return at(file, node, fmt::format("\"{}\" is not a known processor", *text));
            value.processor = *text;
        } else if (name == "probe" && text) {
            value.probe = *text;
        } else if (name == "unit" && text) {
            value.unit = *text;
        } else if (name == "source" && text) {
            value.source = *text;
        } else if (name == "compute_units" && whole && *whole > 0 && *whole < 4096) {
            value.compute_units = static_cast<uint32_t>(*whole);
        } else if (name == "links" && whole && *whole > 0 && *whole < 64) {
            value.links = static_cast<uint32_t>(*whole);
        } else if (name == "floor" && number && *number > 0) {
            value.floor = *number;
        } else {
            return at(file, node, fmt::format("\"{}\" is no key of a floor, or its value is out of range", name));
        }
    }
    if (value.processor.empty() || value.probe.empty() || value.unit.empty() || value.source.empty() || value.floor <= 0)
        return at(file, row, "a floor needs processor, probe, floor, unit and source (where the figure comes from)");
    return value;
}

status read_floors(const std::string& file, floor_table& table) {
    const auto content = read_file(file);
    if (!content) return content.failure();
    toml::table parsed;
    try {
        parsed = toml::parse(*content, file);
    } catch (const toml::parse_error& problem) {
        return error{error_code::configuration,
                     fmt::format("{}:{}: {}", file, problem.source().begin.line, problem.description())};
    }
    for (const auto& [key, node] : parsed) {
        const auto* rows = node.as_array();
        if (key.str() != "floor" || rows == nullptr)
            return at(file, node, fmt::format("\"{}\" is not known here; a floors file holds [[floor]] tables", key.str()));
        for (const auto& row : *rows) {
            if (!row.is_table()) return at(file, row, "a floor is a table: [[floor]]");
            auto value = read_row(file, *row.as_table());
            if (!value) return value.failure();
            table.push_back(std::move(*value));
        }
    }
    return success();
}

} // namespace

result<floor_table> load_floors(const std::string& directory) {
    floor_table table;
    for (const auto& name : list_directory(directory)) {
        if (!name.ends_with(".toml")) continue;
        if (const auto read = read_floors(directory + "/" + name, table); !read) return read.failure();
    }
    return table;
}

const floor_value* find_floor(const floor_table& table, const gcd& die, std::string_view probe) {
    const floor_value* best = nullptr;
    for (const auto& row : table) {
        if (!die.target || row.processor != die.target->processor || row.probe != probe || row.links) continue;
        if (row.compute_units && row.compute_units != die.compute_units) continue;
        if (best == nullptr || (row.compute_units && !best->compute_units)) best = &row;
    }
    return best;
}

const floor_value* find_link_floor(const floor_table& table, const gcd& from, uint32_t links) {
    for (const auto& row : table)
        if (from.target && row.processor == from.target->processor && row.probe == "link" && row.links == links) return &row;
    return nullptr;
}

} // namespace amd_gpu
