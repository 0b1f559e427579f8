#include "snapshot/hide.hpp"

#include "system/files.hpp"

#include <charconv>
#include <fmt/format.h>
#include <map>

namespace amd_gpu {
namespace {

/// As large as a real id, so that whoever reads it treats it alike.
constexpr uint64_t first_id = 0x1000000000000001;

class replacements {
  public:
    uint64_t of_id(uint64_t id) {
        if (id == 0 || id == UINT64_MAX)
            return id;
        return ids_.emplace(id, first_id + ids_.size()).first->second;
    }
    std::string of_serial(const std::string& serial) {
        if (serial.empty() || serial == "N/A" || serial.find_first_not_of('0') == std::string::npos)
            return serial;
        return serials_.emplace(serial, fmt::format("hidden{:04}", serials_.size() + 1)).first->second;
    }

  private:
    std::map<uint64_t, uint64_t> ids_;
    std::map<std::string, std::string> serials_;
};

std::optional<uint64_t> whole_number(std::string_view text, int base) {
    uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (failure != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

/// "unique_id 123" and "hive_id 123" among the lines of a KFD node.
std::string hide_in_properties(const std::string& text, replacements& instead) {
    std::string hidden;
    for (const auto& line : split(text, '\n')) {
        const auto space = line.find(' ');
        const std::string name = line.substr(0, space);
        const auto id = name == "unique_id" || name == "hive_id"
                            ? whole_number(trimmed(std::string_view(line).substr(std::min(space, line.size()))), 10)
                            : std::nullopt;
        hidden += (id ? fmt::format("{} {}", name, instead.of_id(*id)) : line) + "\n";
    }
    hidden.pop_back(); // split gives one part more than there are line ends
    return hidden;
}

} // namespace

void hide_serials(node_files& files) {
    replacements instead;
    for (auto& entry : files.entries) {
        if (entry.what != archive_entry::kind::file)
            continue;
        const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
        const std::string line(trimmed(entry.content));
        if (name == "unique_id") {
            if (const auto id = whole_number(line, 16))
                entry.content = fmt::format("{:016x}\n", instead.of_id(*id));
        } else if (name == "xgmi_hive_id" || name == "xgmi_device_id") {
            if (const auto id = whole_number(line, 10))
                entry.content = fmt::format("{}\n", instead.of_id(*id));
        } else if (name == "serial_number") {
            if (!line.empty())
                entry.content = instead.of_serial(line) + "\n";
        } else if (name == "properties") {
            entry.content = hide_in_properties(entry.content, instead);
        }
    }
}

} // namespace amd_gpu
