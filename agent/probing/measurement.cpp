#include "probing/measurement.hpp"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {
namespace {

using nlohmann::json;

std::string text_field(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A finite number that is not negative: NaN and infinity would pass or fail every comparison.
std::optional<double> number_field(const json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number())
        return std::nullopt;
    const double value = found->get<double>();
    if (!std::isfinite(value) || value < 0)
        return std::nullopt;
    return value;
}

error unreadable(std::string_view line) {
    return {error_code::peer, fmt::format("the probe printed a line that is not understood: {:.120}", line)};
}

std::string mismatch_text(const json& object) {
    std::string bits;
    if (const auto list = object.find("bits"); list != object.end() && list->is_array())
        for (const auto& bit : *list)
            if (bit.is_number_unsigned())
                bits += fmt::format("{}{}", bits.empty() ? "" : ",", bit.get<unsigned>());
    const auto index = object.find("index");
    return fmt::format("{} index {} expected {} found {}{}", text_field(object, "probe"),
                       index != object.end() && index->is_number_unsigned() ? index->get<uint64_t>() : 0,
                       text_field(object, "expected"), text_field(object, "found"),
                       bits.empty() ? "" : " (bit " + bits + ")");
}

} // namespace

status add_line(probe_report& report, std::string_view line) {
    const json object = json::parse(line, nullptr, false);
    if (!object.is_object())
        return unreadable(line);
    const std::string type = text_field(object, "type");
    const auto bdf = gcd_id::parse(text_field(object, "bdf"));
    if (type == "measurement") {
        const auto value = number_field(object, "value");
        if (!bdf || !value)
            return unreadable(line);
        report.measurements.push_back({text_field(object, "probe"), *bdf, *value, text_field(object, "unit"),
                                       number_field(object, "seconds").value_or(0)});
    } else if (type == "link") {
        const auto from = gcd_id::parse(text_field(object, "from"));
        const auto to = gcd_id::parse(text_field(object, "to"));
        const auto value = number_field(object, "value");
        const auto verified = object.find("verified");
        if (!from || !to || !value || verified == object.end() || !verified->is_boolean())
            return unreadable(line);
        report.links.push_back({*from, *to, *value, verified->get<bool>()});
    } else if (type == "error") {
        probe_error failure{text_field(object, "probe"), bdf, text_field(object, "call"), std::nullopt,
                            text_field(object, "text")};
        if (const auto code = object.find("code"); code != object.end() && code->is_number_integer())
            failure.code = code->get<int>();
        report.errors.push_back(std::move(failure));
    } else if (type == "mismatch") {
        report.mismatches.push_back(mismatch_text(object));
    } else if (type == "start") {
        report.started = true;
    } else if (type == "end") {
        report.ended = true;
    }
    return success(); // other types are from a newer probe
}

} // namespace amd_gpu
