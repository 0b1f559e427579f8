#include "environment/bundle_index.hpp"

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr std::string_view provider = "bundle";
constexpr std::size_t most_environments = 10000;
constexpr std::size_t most_variants = 1000; // of one environment
constexpr int deepest = 8;                  // levels of nesting; ours has 5
constexpr uint64_t largest_number = uint64_t{1} << 53;
// Keys that a variant has in the index and in a record alike.
constexpr const char* same_keys[] = {"targets",       "edits",  "suggests_edits", "mount_point",
                                     "substitutable", "digest", "provenance",     "created"};

std::optional<uint64_t> number_in(const json& from, const char* key) {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_number_unsigned() || found->get<uint64_t>() > largest_number)
        return std::nullopt;
    return found->get<uint64_t>();
}

std::optional<int64_t> time_in(const json& from, const char* key) {
    if (const auto number = number_in(from, key))
        return static_cast<int64_t>(*number);
    const auto found = from.find(key);
    return found != from.end() && found->is_string() ? parse_utc(found->get_ref<const std::string&>()) : std::nullopt;
}

/// A variant becomes a record, so that the one reader of records checks it.
variant_candidate variant_of(const json& from, const std::string& name) {
    if (!from.is_object())
        return {{}, "is no object in the index"};
    json record{{"schema", variant_schema}, {"environment", name}, {"provider", provider}, {"storage", "blob"}};
    for (const char* key : same_keys)
        if (from.contains(key))
            record[key] = from[key];
    if (const auto blob = from.find("blob"); blob != from.end() && blob->is_object()) {
        record["blob"] = blob->value("sha256", json());
        record["blob_bytes"] = blob->value("bytes", json());
    }
    variant_candidate made;
    if (result<variant> read = parse_record(record.dump(-1, ' ', false, json::error_handler_t::replace)))
        made.found = std::move(*read);
    else
        made.unusable = "the index: " + read.failure().what;
    return made;
}

json json_of(const variant& from) {
    const json record = json::parse(to_record(from));
    json made{{"blob", {{"sha256", from.blob}, {"bytes", from.blob_bytes}}}};
    for (const char* key : same_keys)
        if (record.contains(key))
            made[key] = record[key];
    return made;
}

} // namespace

std::string utc_text(int64_t seconds) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::optional<int64_t> parse_utc(std::string_view text) {
    constexpr std::string_view form = "0000-00-00T00:00:00Z";
    if (text.size() != form.size())
        return std::nullopt;
    for (std::size_t i = 0; i < form.size(); ++i)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return std::nullopt;
    const auto part = [&](std::size_t at, std::size_t size) { return std::stoi(std::string(text.substr(at, size))); };
    std::tm parts{};
    parts.tm_year = part(0, 4) - 1900;
    parts.tm_mon = part(5, 2) - 1;
    parts.tm_mday = part(8, 2);
    parts.tm_hour = part(11, 2);
    parts.tm_min = part(14, 2);
    parts.tm_sec = part(17, 2);
    const auto seconds = static_cast<int64_t>(::timegm(&parts));
    // 30 February and the like come out as another day.
    return utc_text(seconds) == text ? std::optional(seconds) : std::nullopt;
}

result<bundle_index> parse_bundle_index(std::string_view text) {
    const auto refused = [](const std::string& why) { return error{error_code::peer, why}; };
    if (text.size() > longest_index)
        return refused(fmt::format("longer than {} bytes", longest_index));
    bool deep = false; // what nests for ever would exhaust the stack later
    const json::parser_callback_t look = [&deep](int depth, json::parse_event_t, json&) {
        deep |= depth > deepest;
        return true;
    };
    const json document = json::parse(text, look, /*allow_exceptions=*/false);
    if (!document.is_object() || deep)
        return refused("no JSON object of the right form");
    const auto schema = number_in(document, "schema");
    if (!schema || *schema < 1)
        return refused("schema is missing");
    if (*schema > static_cast<uint64_t>(bundle_schema))
        return refused(fmt::format("schema {} is newer than this program, which knows {}; update slurm-amd-gpu",
                                   *schema, bundle_schema));
    const auto version = number_in(document, "version");
    if (!version || *version == 0)
        return refused("version must be a whole number from 1");
    const auto expires = time_in(document, "expires");
    if (!expires)
        return refused("expires must be a time such as \"2027-01-31T12:00:00Z\", or seconds since 1970");
    const auto environments = document.find("environments");
    if (environments == document.end() || !environments->is_object() || environments->size() > most_environments)
        return refused(fmt::format("environments must be an object with at most {} names", most_environments));
    bundle_index made{*version, *expires, {}};
    for (const auto& [name, list] : environments->items()) {
        if (!is_environment_name(name))
            return refused("environments holds a name that no environment can have");
        if (!list.is_array() || list.size() > most_variants)
            return refused(fmt::format("environment {} must be a list of at most {} variants", name, most_variants));
        for (const json& one : list)
            made.environments[name].push_back(variant_of(one, name));
    }
    return made;
}

std::string to_json(const bundle_index& from) {
    json environments = json::object();
    for (const auto& [name, variants] : from.environments)
        for (const variant_candidate& one : variants)
            if (one.unusable.empty())
                environments[name].push_back(json_of(one.found));
    const json document{{"schema", bundle_schema},
                        {"version", from.version},
                        {"expires", utc_text(from.expires)},
                        {"environments", environments}};
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

} // namespace amd_gpu
