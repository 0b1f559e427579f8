// Records of variants as JSON, written and strictly read.
#include "environment/variant.hpp"

#include "system/sha256.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr std::size_t longest_path = 4095; // Linux PATH_MAX, without its zero byte
constexpr std::size_t most_edits = 1000;
constexpr std::size_t most_targets = 64;
constexpr std::size_t most_provenance = 100;
constexpr std::string_view storage_names[] = {"prefix", "store", "blob"};
constexpr std::string_view sha256_prefix = "sha256:";

bool has_control(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; });
}

/// Takes a record apart. The first thing that is wrong is kept; what follows is read as if it were not there.
class record_reader {
  public:
    explicit record_reader(const json& from)
        : from_(from) {}

    std::string text(const char* key, bool required = true) {
        const auto found = from_.find(key);
        if (found == from_.end()) {
            if (required)
                wrong(std::string(key) + " is missing");
            return {};
        }
        if (!found->is_string() || has_control(found->get_ref<const std::string&>())) {
            wrong(std::string(key) + " must be a text without control characters");
            return {};
        }
        return found->get<std::string>();
    }

    template<typename Number>
    Number number(const char* key) {
        const auto found = from_.find(key);
        if (found == from_.end())
            return {};
        if (!found->is_number_unsigned() || found->get<uint64_t>() > uint64_t{1} << 53) {
            wrong(std::string(key) + " must be a whole number");
            return {};
        }
        return static_cast<Number>(found->get<uint64_t>());
    }

    bool truth(const char* key, bool otherwise) {
        const auto found = from_.find(key);
        if (found == from_.end())
            return otherwise;
        if (!found->is_boolean())
            wrong(std::string(key) + " must be true or false");
        return found->is_boolean() ? found->get<bool>() : otherwise;
    }

    std::vector<std::string> texts(const char* key, std::size_t most) {
        std::vector<std::string> all;
        const auto found = from_.find(key);
        if (found == from_.end())
            return all;
        if (!found->is_array() || found->size() > most) {
            wrong(fmt::format("{} must be a list of at most {} texts", key, most));
            return all;
        }
        for (const json& one : *found) {
            if (one.is_string() && !has_control(one.get_ref<const std::string&>()))
                all.push_back(one.get<std::string>());
            else
                wrong(std::string(key) + " must hold texts without control characters");
        }
        return all;
    }

    std::map<std::string, std::string> table(const char* key, std::size_t most) {
        std::map<std::string, std::string> all;
        const auto found = from_.find(key);
        if (found == from_.end())
            return all;
        if (!found->is_object() || found->size() > most) {
            wrong(fmt::format("{} must be a table of at most {} texts", key, most));
            return all;
        }
        for (const auto& [name, value] : found->items()) {
            if (value.is_string() && !has_control(value.get_ref<const std::string&>()) && !has_control(name))
                all.emplace(name, value.get<std::string>());
            else
                wrong(std::string(key) + " must hold texts without control characters");
        }
        return all;
    }

    void wrong(std::string what) {
        if (mistake_.empty())
            mistake_ = std::move(what);
    }
    [[nodiscard]] const std::string& mistake() const { return mistake_; }

  private:
    const json& from_;
    std::string mistake_;
};

void read_targets(record_reader& from, variant& to) {
    for (const std::string& text : from.texts("targets", most_targets)) {
        const result<target_id> target = parse_target(text);
        if (!target)
            return from.wrong("targets: " + target.failure().what);
        to.targets.push_back(*target);
    }
    if (to.targets.empty())
        return from.wrong("targets names none");
    if (!std::is_sorted(to.targets.begin(), to.targets.end()) ||
        std::adjacent_find(to.targets.begin(), to.targets.end()) != to.targets.end())
        from.wrong("targets must be sorted, each once");
}

void read_edits(record_reader& from, variant& to) {
    for (const std::string& text : from.texts("edits", most_edits)) {
        const result<edit> change = edit::parse(text);
        if (!change)
            return from.wrong("edits: " + change.failure().what);
        if (!may_edit(change->name))
            return from.wrong("edits: " + change->name + " may not be edited by an environment");
        to.edits.push_back(*change);
    }
}

void read_place(record_reader& from, variant& to) {
    const std::string kept = from.text("storage");
    const auto known = std::find(std::begin(storage_names), std::end(storage_names), kept);
    if (known == std::end(storage_names))
        return from.wrong("storage must be prefix, store or blob");
    to.kept = static_cast<storage>(known - std::begin(storage_names));
    if (to.kept == storage::blob) {
        to.blob = from.text("blob");
        to.blob_bytes = from.number<uint64_t>("blob_bytes");
        to.mount_point = from.text("mount_point", false);
        if (!is_sha256(to.blob))
            from.wrong("blob must be 64 lower-case hexadecimal digits");
        if (to.blob_bytes == 0)
            from.wrong("blob_bytes must be the size of the image");
        if (!to.mount_point.empty() && (!is_plain_path(to.mount_point) || to.mount_point == "/"))
            from.wrong("mount_point must be a plain absolute path");
        return;
    }
    to.path = from.text("path");
    if (!is_plain_path(to.path) || to.path == "/")
        from.wrong("path must be absolute and plain: no \"..\", no white space, no ':'");
}

} // namespace

std::string_view name_of(storage kept) {
    return storage_names[static_cast<std::size_t>(kept)];
}

std::string variant::key() const {
    return kept == storage::blob ? blob : sha256_of(path + '\n' + digest);
}

bool is_sha256(std::string_view text) {
    constexpr std::size_t digits = 64;
    return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

bool is_digest_name(std::string_view name) {
    return name.starts_with(sha256_prefix) && is_sha256(name.substr(sha256_prefix.size()));
}

bool is_plain_path(std::string_view path) {
    if (path.empty() || path.front() != '/' || path.size() > longest_path || path.find(':') != std::string_view::npos ||
        path.find(' ') != std::string_view::npos || has_control(path))
        return false;
    for (std::size_t start = 1; start <= path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        const std::string_view part = path.substr(start, end - start);
        if (part == "." || part == ".." || (part.empty() && end != path.size()))
            return false;
        start = end + 1;
    }
    return true;
}

std::string to_record(const variant& from) {
    json record{{"schema", variant_schema},
                {"environment", from.environment},
                {"provider", from.provider},
                {"targets", json::array()},
                {"storage", name_of(from.kept)},
                {"substitutable", from.substitutable},
                {"suggests_edits", from.suggests_edits},
                {"edits", json::array()},
                {"provenance", from.provenance},
                {"created", from.created}};
    for (const target_id& target : from.targets)
        record["targets"].push_back(target.text());
    for (const edit& change : from.edits)
        record["edits"].push_back(change.text());
    if (!from.digest.empty())
        record["digest"] = from.digest;
    if (from.kept != storage::blob) {
        record["path"] = from.path;
    } else {
        record["blob"] = from.blob;
        record["blob_bytes"] = from.blob_bytes;
        if (!from.mount_point.empty())
            record["mount_point"] = from.mount_point;
    }
    return record.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

result<variant> parse_record(std::string_view text) {
    const auto refused = [](const std::string& why) { return error{error_code::configuration, why}; };
    if (text.size() > longest_record)
        return refused(fmt::format("longer than {} bytes", longest_record));
    const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!document.is_object())
        return refused("no JSON object");
    record_reader from(document);
    const auto schema = from.number<int64_t>("schema");
    if (schema > variant_schema)
        return refused(fmt::format("schema {} is newer than this program, which knows {}; update slurm-amd-gpu", schema,
                                   variant_schema));
    if (schema < 1)
        from.wrong("schema is missing");
    variant made;
    made.environment = from.text("environment");
    made.provider = from.text("provider");
    made.digest = from.text("digest", false);
    if (!made.digest.empty() && !is_sha256(made.digest))
        from.wrong("digest must be 64 lower-case hexadecimal digits");
    read_targets(from, made);
    read_place(from, made);
    read_edits(from, made);
    made.substitutable = from.truth("substitutable", false);
    made.suggests_edits = from.truth("suggests_edits", true);
    made.provenance = from.table("provenance", most_provenance);
    made.created = from.number<int64_t>("created");
    if (!from.mistake().empty())
        return refused(from.mistake());
    return made;
}

} // namespace amd_gpu
