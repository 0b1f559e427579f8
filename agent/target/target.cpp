// Parsing and printing of target IDs.
#include "target/target.hpp"

#include "target/spelling.hpp"

namespace amd_gpu {
namespace {

std::string_view sign_of(feature_mode mode) {
    return mode == feature_mode::on ? "+" : "-";
}

// Why the processor of a text is refused.
std::string unknown_processor(std::string_view name) {
    if (name.empty()) {
        return "a target is missing; it looks like gfx90a or gfx90a:xnack-";
    }
    if (const auto inside = processor_of_product(name)) {
        return quoted(name) + " is a product, not a target; its target is " + std::string(*inside);
    }
    const std::string start = quoted(name) + " is not a known target";
    if (const std::string lower = lower_case(name); find_processor(lower) != nullptr) {
        return start + "; names are lower case: " + lower;
    }
    const auto nearest = nearest_processor(name);
    return nearest ? start + "; did you mean " + std::string(*nearest) + "?"
                   : start + "; one looks like gfx90a or gfx942:xnack-";
}

// Reads one feature with its sign ("xnack+") into the target; an empty answer is success.
std::string read_feature(std::string_view text, const processor& has, target_id& into) {
    if (text.empty()) {
        return "a feature is missing behind ':'";
    }
    const char sign = text.back();
    if (sign != '+' && sign != '-') {
        return "a feature needs + or - behind it";
    }
    const std::string_view name = text.substr(0, text.size() - 1);
    const bool is_sramecc = name == "sramecc";
    if (!is_sramecc && name != "xnack") {
        return quoted(name) + " is no feature; there are sramecc and xnack";
    }
    if (is_sramecc ? !has.has_sramecc : !has.has_xnack) {
        return std::string(has.name) + " has no " + std::string(name) + " to choose";
    }
    feature_mode& mode = is_sramecc ? into.sramecc : into.xnack;
    if (mode != feature_mode::any) {
        return std::string(name) + " is given twice";
    }
    mode = sign == '+' ? feature_mode::on : feature_mode::off;
    return {};
}

} // namespace

std::string target_id::text() const {
    std::string out = processor;
    if (sramecc != feature_mode::any) {
        out.append(":sramecc").append(sign_of(sramecc));
    }
    if (xnack != feature_mode::any) {
        out.append(":xnack").append(sign_of(xnack));
    }
    return out;
}

std::string target_id::path_text() const {
    std::string out = processor;
    if (sramecc != feature_mode::any) {
        out.append(sramecc == feature_mode::on ? "-sramecc_on" : "-sramecc_off");
    }
    if (xnack != feature_mode::any) {
        out.append(xnack == feature_mode::on ? "-xnack_on" : "-xnack_off");
    }
    return out;
}

std::variant<target_id, target_mistake> read_target(std::string_view text) {
    std::size_t end = text.find(':');
    const std::string_view name = text.substr(0, end);
    const processor* known = find_processor(name);
    if (known == nullptr) {
        return target_mistake{0, unknown_processor(name)};
    }
    target_id target{.processor = std::string(known->canonical)};
    while (end != std::string_view::npos) {
        const std::size_t start = end + 1;
        end = text.find(':', start);
        const std::size_t length = end == std::string_view::npos ? end : end - start;
        if (std::string wrong = read_feature(text.substr(start, length), *known, target); !wrong.empty()) {
            return target_mistake{start, quoted(text) + ": " + wrong};
        }
    }
    return target;
}

result<target_id> parse_target(std::string_view text) {
    auto read = read_target(text);
    if (auto* target = std::get_if<target_id>(&read)) {
        return std::move(*target);
    }
    auto& [offset, what] = std::get<target_mistake>(read);
    if (offset > 0) {
        what += " (column " + std::to_string(offset + 1) + ")";
    }
    return error{error_code::usage, std::move(what)};
}

std::optional<std::string> processor_from_kfd(uint32_t gfx_target_version) {
    constexpr std::string_view digits = "0123456789abcdef";
    const uint32_t major = gfx_target_version / 10000;
    const uint32_t minor = gfx_target_version / 100 % 100;
    const uint32_t step = gfx_target_version % 100;
    // KFD begins with gfx700; minor and step are one hexadecimal digit each in a name.
    if (major < 7 || major > 99 || minor >= digits.size() || step >= digits.size()) {
        return std::nullopt;
    }
    return "gfx" + std::to_string(major) + digits[minor] + digits[step];
}

} // namespace amd_gpu
