// Reads a node back from its JSON. What it reads may come from another version of this program or from anybody's file:
// a name that is missing is unknown, a name that is not known is passed over, a value of the wrong kind is an error.
#include "node/json.hpp"

#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

using json = nlohmann::json;

/// More than any node has; a longer list is nonsense.
constexpr std::size_t most_gcds = 4096;
constexpr std::size_t most_links = most_gcds * 64;

/// Takes members out of one object. The first that is of the wrong kind is kept as the failure, so that a reader states
/// its fields one after another and looks once at the end.
class fields {
  public:
    fields(const json& object, std::string where)
        : object_(object)
        , where_(std::move(where)) {
        if (!object.is_object())
            fail("", "is no object");
    }

    [[nodiscard]] const std::optional<error>& failure() const { return failure_; }

    void fail(const std::string& name, const std::string& why) {
        if (!failure_)
            failure_ = error{error_code::peer, where_ + (name.empty() ? "" : "." + name) + " " + why};
    }

    /// The member, or null when it is missing or null.
    [[nodiscard]] const json* at(const std::string& name) const {
        if (!object_.is_object())
            return nullptr;
        const auto found = object_.find(name);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }

    void read(const std::string& name, std::optional<uint64_t>& to) {
        const json* value = at(name);
        if (value == nullptr)
            return;
        if (value->is_number_unsigned())
            to = value->get<uint64_t>();
        else
            fail(name, "is no whole number");
    }

    void read(const std::string& name, std::optional<uint32_t>& to) {
        std::optional<uint64_t> wide;
        read(name, wide);
        if (wide && *wide > std::numeric_limits<uint32_t>::max())
            fail(name, "is too large");
        else if (wide)
            to = static_cast<uint32_t>(*wide);
    }

    void read(const std::string& name, std::optional<double>& to) {
        const json* value = at(name);
        if (value != nullptr && value->is_number() && std::isfinite(value->get<double>()))
            to = value->get<double>();
        else if (value != nullptr)
            fail(name, "is no number");
    }

    void read(const std::string& name, std::optional<bool>& to) {
        const json* value = at(name);
        if (value != nullptr && value->is_boolean())
            to = value->get<bool>();
        else if (value != nullptr)
            fail(name, "is neither true nor false");
    }

    void read(const std::string& name, std::optional<std::string>& to) {
        const json* value = at(name);
        if (value != nullptr && value->is_string())
            to = value->get<std::string>();
        else if (value != nullptr)
            fail(name, "is no text");
    }

    void read(const std::string& name, std::map<std::string, std::string>& to) {
        const json* value = at(name);
        if (value == nullptr)
            return;
        if (!value->is_object())
            return fail(name, "is no object");
        for (const auto& [key, text] : value->items()) {
            if (!text.is_string())
                return fail(name + "." + key, "is no text");
            to[key] = text.get<std::string>();
        }
    }

    void read(const std::string& name, std::vector<uint32_t>& to) {
        const json* value = at(name);
        if (value == nullptr)
            return;
        if (!value->is_array() || value->size() > 8192)
            return fail(name, "is no list of CPUs");
        for (const auto& one : *value) {
            if (!one.is_number_unsigned() || one.get<uint64_t>() > std::numeric_limits<uint32_t>::max())
                return fail(name, "is no list of CPUs");
            to.push_back(one.get<uint32_t>());
        }
    }

    /// A fact that is text in JSON: `parse` gives nothing when the text is not of its form.
    template<typename T, typename Parse>
    void read_as(const std::string& name, std::optional<T>& to, Parse parse) {
        std::optional<std::string> text;
        read(name, text);
        if (!text)
            return;
        if (auto value = parse(*text))
            to = std::move(*value);
        else
            fail(name, fmt::format("cannot be \"{:.40}\"", *text));
    }

    /// The elements of a list, none when it is missing.
    [[nodiscard]] const json& list(const std::string& name, std::size_t most) {
        static const json none = json::array();
        const json* value = at(name);
        if (value == nullptr)
            return none;
        if (value->is_array() && value->size() <= most)
            return *value;
        fail(name, "is no list, or too long");
        return none;
    }

  private:
    const json& object_;
    std::string where_;
    std::optional<error> failure_;
};

/// "0x1a2b": a number in hexadecimal with its prefix.
std::optional<uint64_t> hex_of(std::string_view text) {
    if (!text.starts_with("0x") || text.size() < 3)
        return std::nullopt;
    uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
    return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<uint32_t> short_hex_of(std::string_view text) {
    const auto value = hex_of(text);
    return value && *value <= std::numeric_limits<uint32_t>::max() ? std::optional(static_cast<uint32_t>(*value))
                                                                   : std::nullopt;
}

std::optional<gpu_kind> kind_of(std::string_view text) {
    for (const auto kind : {gpu_kind::discrete, gpu_kind::apu, gpu_kind::integrated, gpu_kind::virtual_function})
        if (text_of(kind) == text)
            return kind;
    return std::nullopt;
}

std::optional<finding::severity> level_of(std::string_view text) {
    for (const auto level : {finding::severity::note, finding::severity::warning, finding::severity::fault})
        if (text_of(level) == text)
            return level;
    return std::nullopt;
}

/// Whether a text looks like a processor that KFD may name (see processor_from_kfd), known to us or not.
bool may_be_processor(std::string_view text) {
    constexpr std::string_view prefix = "gfx";
    constexpr std::string_view digits = "0123456789abcdef";
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return (text.size() == 3 || text.size() == 4) && text.find_first_not_of(digits) == std::string_view::npos &&
           text.find_first_of("abcdef") >= text.size() - 2;
}

/// Newer GPUs than we know have a processor all the same, and no features that could be told.
std::optional<target_id> target_of(const std::string& text) {
    if (const auto target = parse_target(text))
        return *target;
    return may_be_processor(text) ? std::optional(target_id{text}) : std::nullopt;
}

result<gcd> gcd_of(const json& object, std::size_t position) {
    fields from(object, fmt::format("gcds[{}]", position));
    gcd g;
    std::optional<pci_address> bdf;
    std::optional<uint32_t> index;
    std::optional<bool> bound;
    from.read("gcd", index);
    from.read_as("bdf", bdf, pci_address::parse);
    from.read("partition", g.partition);
    from.read_as("unique_id", g.unique_id, hex_of);
    from.read("package", g.package);
    from.read_as("kind", g.kind, kind_of);
    from.read_as("target", g.target, target_of);
    from.read("xnack", g.xnack);
    from.read("xnack_selectable", g.xnack_selectable);
    from.read("model", g.model);
    from.read("product", g.product);
    from.read_as("pci_device", g.pci_device, short_hex_of);
    from.read("memory_bytes", g.memory_bytes);
    from.read("memory_shared_by", g.memory_shared_by);
    from.read("vram_bytes", g.vram_bytes);
    from.read("compute_partition", g.compute_partition);
    from.read("memory_partition", g.memory_partition);
    from.read("compute_units", g.compute_units);
    from.read("xccs", g.xccs);
    from.read("max_clock_mhz", g.max_clock_mhz);
    from.read("numa", g.numa);
    from.read("cores", g.cores);
    from.read("render_minor", g.render_minor);
    from.read("kfd_node", g.kfd_node);
    from.read("kfd_gpu_id", g.kfd_gpu_id);
    from.read("smi_index", g.smi_index);
    from.read("pcie_gt_per_s", g.pcie_gt_per_s);
    from.read("pcie_width", g.pcie_width);
    from.read_as("hive", g.hive, hex_of);
    from.read("vbios", g.vbios);
    from.read("firmware", g.firmware);
    from.read("bound", bound);
    from.read("sources", g.sources);
    if (!bdf)
        from.fail("bdf", "is missing");
    if (index != position)
        from.fail("gcd", "is not the position in the list");
    if (from.failure())
        return *from.failure();
    g.index = *index;
    g.bdf = *bdf;
    g.bound = bound.value_or(false);
    return g;
}

result<link> link_of(const json& object, std::size_t position, std::size_t gcds) {
    fields from(object, fmt::format("links[{}]", position));
    link l;
    std::optional<uint32_t> start;
    std::optional<uint32_t> end;
    std::optional<std::string> type;
    from.read("from", start);
    from.read("to", end);
    from.read("type", type);
    from.read("links", l.links);
    from.read("gb_per_s", l.gb_per_s);
    if (!start || !end || *start >= gcds || *end >= gcds)
        from.fail("", "does not join two GCDs of the list");
    if (from.failure())
        return *from.failure();
    l.from = *start;
    l.to = *end;
    l.type = type.value_or("");
    return l;
}

result<finding> finding_of(const json& object, std::size_t position) {
    fields from(object, fmt::format("findings[{}]", position));
    finding f;
    std::optional<finding::severity> level;
    std::optional<std::string> check;
    std::optional<std::string> text;
    from.read_as("level", level, level_of);
    from.read("check", check);
    from.read_as("bdf", f.bdf, pci_address::parse);
    from.read("text", text);
    if (!level)
        from.fail("level", "is missing");
    if (from.failure())
        return *from.failure();
    f.level = *level;
    f.check = check.value_or("");
    f.text = text.value_or("");
    return f;
}

/// Reads each element of a list with `read(element, position)`, up to the first that cannot be read.
template<typename T, typename Read>
status read_all(const json& list, std::vector<T>& to, Read read) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        auto one = read(list[i], i);
        if (!one)
            return one.failure();
        to.push_back(std::move(*one));
    }
    return success();
}

} // namespace

result<node> node_from_json(std::string_view text) {
    const auto document = json::parse(text, nullptr, false);
    if (document.is_discarded())
        return error{error_code::peer, "this is no JSON"};
    fields from(document, "node");
    std::optional<uint32_t> schema;
    std::optional<std::string> name;
    std::optional<std::string> boot;
    node found;
    from.read("schema", schema);
    from.read("node", name);
    from.read("boot_id", boot);
    from.read("versions", found.versions);
    if (!from.failure() && schema != node_schema)
        from.fail("schema", fmt::format("is not {}: it was written by another version of this program", node_schema));
    const auto& gcds = from.list("gcds", most_gcds);
    const auto& links = from.list("links", most_links);
    const auto& findings = from.list("findings", most_links);
    if (from.failure())
        return *from.failure();
    found.name = name.value_or("");
    found.boot_id = boot.value_or("");

    if (const json* counts = from.at("sources")) {
        fields seen(*counts, "sources");
        seen.read("pci", found.sources.pci);
        seen.read("kfd", found.sources.kfd);
        seen.read("smi", found.sources.smi);
        if (seen.failure())
            return *seen.failure();
    }
    status read = read_all(gcds, found.gcds, gcd_of);
    if (read)
        read =
            read_all(links, found.links, [&](const json& one, std::size_t i) { return link_of(one, i, gcds.size()); });
    if (read)
        read = read_all(findings, found.findings, finding_of);
    if (!read)
        return read.failure();
    return found;
}

} // namespace amd_gpu
