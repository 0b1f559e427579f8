// Parsing of --amd-gpu into a request, and back.
#include "option.hpp"

#include "target/spelling.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

namespace amd_gpu {
namespace {

constexpr auto items = std::to_array<option_item>({
    {"auto", item_kind::word, "", "Software for exactly the GPUs that the job gets (the default)"},
    {"TARGET", item_kind::target, "", "Accept only these targets, for example gfx90a, gfx942:xnack- or gfx9-4-generic"},
    {"off", item_kind::word, "", "Do nothing for this job", &request::off},
    {"help", item_kind::word, "", "Print this text", &request::help},
    {"env", item_kind::environment, "NAME|FILE",
     "Environment: a name of the site's, or a manifest file of your own (the path needs a slash)", nullptr,
     &request::environment},
    {"probe", item_kind::choice, "off|quick|standard", "How thoroughly to test the GPUs before the job starts", nullptr,
     &request::probe},
    {"mask", item_kind::choice, "job|rank|none",
     "What a task sees: the job's GPUs of this node, its own ones, or what Slurm set", nullptr, &request::mask},
    {"bind", item_kind::choice, "none|closest", "Bind each task to the cores beside its GPU", nullptr, &request::bind},
    {"verbose", item_kind::word, "", "Report the preparation of every node", &request::verbose},
});

// Calls for each piece of a list with its offset, until one returns false.
template<typename F>
bool for_each_piece(std::string_view list, char separator, F each) {
    std::size_t start = 0;
    for (;;) {
        const std::size_t end = std::min(list.find(separator, start), list.size());
        if (!each(list.substr(start, end - start), start)) {
            return false;
        }
        if (end == list.size()) {
            return true;
        }
        start = end + 1;
    }
}

bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '+' || c == '-';
}

bool is_control(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
}

// Why a value cannot be an environment; empty when it can.
std::string bad_environment(std::string_view value) {
    if (value.find('/') != std::string_view::npos) {
        if (value.size() >= PATH_MAX) {
            return "the path is longer than a path can be";
        }
        return std::ranges::any_of(value, is_control) ? "a path may not hold control characters" : "";
    }
    if (value.size() > longest_name) {
        return "the name is longer than " + std::to_string(longest_name) + " bytes";
    }
    if (!std::ranges::all_of(value, is_name_letter)) {
        return quoted(value) + " is no name of an environment (letters, digits and . _ + - only); a file needs a slash";
    }
    return value.front() == '.' || value.front() == '-'
               ? "the name of an environment may not start with '" + std::string(1, value.front()) + "'"
               : "";
}

// Why a value is none of an item's choices; empty when it is one.
std::string bad_choice(const option_item& item, std::string_view value) {
    nearest_name nearest(value);
    std::string choices;
    const bool none = for_each_piece(item.argument, '|', [&](std::string_view choice, std::size_t) {
        nearest.consider(choice);
        choices += (choices.empty() ? "" : ", ") + std::string(choice);
        return choice != value;
    });
    if (!none) {
        return {};
    }
    std::string what = quoted(value) + " is no value of " + std::string(item.name) + " (" + choices + ")";
    return nearest.best() ? what + "; did you mean " + std::string(*nearest.best()) + "?" : what;
}

// The item that a misspelt name was meant to be, in words to append; empty when none is near.
std::string did_you_mean(std::string_view name) {
    nearest_name nearest(name);
    for (const option_item& item : items) {
        nearest.consider(item.kind == item_kind::target ? std::string_view{} : item.name);
    }
    const auto found = std::ranges::find(items, nearest.best().value_or(""), &option_item::name);
    return found == items.end() ? "" : "; did you mean " + usage_of(*found) + "?";
}

// Reads the items one by one into a request. Every step gives true, or keeps what is wrong and gives false.
class reader {
  public:
    bool read(std::string_view piece, std::size_t offset) {
        offset_ = offset;
        if (piece.empty()) {
            return wrong("an item is missing");
        }
        const std::size_t equals = piece.find('=');
        const std::string_view name = piece.substr(0, equals);
        const auto item = std::ranges::find_if(
            items, [&](const option_item& row) { return row.name == name && row.kind != item_kind::target; });
        if (item == items.end()) {
            return equals == std::string_view::npos
                       ? read_target_item(piece)
                       : wrong(quoted(name) + " is no item that takes a value" + did_you_mean(name));
        }
        if (std::exchange(seen_[static_cast<std::size_t>(item - items.begin())], true)) {
            return wrong(std::string(name) + " is given twice");
        }
        if (item->kind == item_kind::word ? !read_word(*item, equals) : !read_value(*item, piece, equals)) {
            return false;
        }
        return agrees(name);
    }

    // The request, once every item is read.
    result<request> finish() && {
        if (!what_.empty()) {
            return error{error_code::usage, what_ + " (column " + std::to_string(offset_ + 1) + ")"};
        }
        std::ranges::sort(out_.targets);
        const auto repeated = std::ranges::unique(out_.targets);
        out_.targets.erase(repeated.begin(), repeated.end());
        return std::move(out_);
    }

  private:
    bool wrong(std::string what) {
        what_ = std::move(what);
        return false;
    }

    bool read_word(const option_item& item, std::size_t equals) {
        if (equals != std::string_view::npos) {
            return wrong(std::string(item.name) + " takes no value");
        }
        if (item.flag != nullptr) {
            out_.*item.flag = true;
        } else {
            auto_ = true;
        }
        return true;
    }

    bool read_value(const option_item& item, std::string_view piece, std::size_t equals) {
        const std::string_view value = piece.substr(std::min(equals, piece.size() - 1) + 1);
        if (value.empty()) {
            return wrong(std::string(item.name) + " needs a value: " + usage_of(item));
        }
        if (std::string bad = item.kind == item_kind::choice ? bad_choice(item, value) : bad_environment(value);
            !bad.empty()) {
            offset_ += equals + 1;
            return wrong(std::move(bad));
        }
        out_.*item.value = value;
        return true;
    }

    bool read_target_item(std::string_view piece) {
        auto read = amd_gpu::read_target(piece);
        if (auto* target = std::get_if<target_id>(&read)) {
            out_.targets.push_back(std::move(*target));
            return agrees("a target");
        }
        auto& [offset, what] = std::get<target_mistake>(read);
        offset_ += offset;
        // Not everything that is no target was meant to be one.
        if (const std::string meant = did_you_mean(piece); offset == 0 && !meant.empty()) {
            return wrong(quoted(piece) + " is not known" + meant);
        }
        return wrong(std::move(what));
    }

    // Whether the item just read goes with those before it.
    bool agrees(std::string_view name) {
        ++count_;
        if (count_ > 1 && (out_.off || out_.help)) {
            return wrong(std::string(out_.off ? "off" : "help") + " stands alone; no other item goes with it");
        }
        if (auto_ && !out_.targets.empty()) {
            return wrong(std::string(name) +
                         (name == "auto" ? " does not go with a target" : " does not go with auto") +
                         ": auto takes the GPUs as they come, a target accepts no other");
        }
        return true;
    }

    request out_;
    std::array<bool, items.size()> seen_{};
    bool auto_ = false;
    std::size_t count_ = 0;
    std::size_t offset_ = 0; // of what is being read
    std::string what_;       // what is wrong with it
};

} // namespace

std::span<const option_item> option_items() {
    return items;
}

std::string usage_of(const option_item& item) {
    return std::string(item.name) + (item.argument.empty() ? "" : "=") + std::string(item.argument);
}

std::string request::text() const {
    std::string out;
    const auto add = [&out](std::string_view piece) { out.append(out.empty() ? "" : ",").append(piece); };
    for (const target_id& target : targets) {
        add(target.text());
    }
    if (targets.empty() && !off && !help) {
        add("auto");
    }
    for (const option_item& item : items) {
        if (item.flag != nullptr && this->*item.flag) {
            add(item.name);
        } else if (item.value != nullptr && !(this->*item.value).empty()) {
            add(std::string(item.name) + "=" + this->*item.value);
        }
    }
    return out;
}

result<request> parse_request(std::string_view text) {
    if (text.size() > longest_option) {
        return error{error_code::usage, "the option is longer than " + std::to_string(longest_option) + " bytes"};
    }
    reader reading;
    for_each_piece(text, ',', [&](std::string_view piece, std::size_t offset) { return reading.read(piece, offset); });
    return std::move(reading).finish();
}

} // namespace amd_gpu
