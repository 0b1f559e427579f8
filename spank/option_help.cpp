// The text of --amd-gpu=help: the table of items, and the known targets in groups.
#include "option.hpp"

#include <algorithm>

namespace amd_gpu {
namespace {

constexpr std::size_t page_width = 80;
constexpr std::size_t item_column = 28;   // beside the longest item, "probe=off|quick|standard"
constexpr std::size_t target_column = 11; // beside "sramecc"

// One entry of a list in two columns: a label, and words that wrap beside it.
class entry {
  public:
    entry(std::string_view label, std::size_t column)
        : line_("  " + std::string(label))
        , column_(column) {
        line_.resize(std::max(line_.size() + 2, column_), ' ');
    }

    void add(std::string_view word) {
        if (line_.size() > column_ && line_.size() + 1 + word.size() > page_width) {
            done_ += line_ + "\n";
            line_.assign(column_, ' ');
        }
        line_.append(line_.size() > column_ ? " " : "").append(word);
    }

    [[nodiscard]] std::string text() const { return done_ + line_ + "\n"; }

  private:
    std::string done_;
    std::string line_;
    std::size_t column_;
};

// "gfx9" of gfx90a and of gfx9-4-generic: the last two characters of a name are minor version and step. "other" of the
// names that are none of a family.
std::string_view family_of(const processor& one) {
    const std::string_view name = one.canonical;
    if (!name.starts_with("gfx")) {
        return "other";
    }
    return name.substr(0, one.generic ? name.find('-') : name.size() - 2);
}

std::string family(std::string_view label, bool old_names) {
    entry list(old_names ? "" : label, target_column);
    bool any = false;
    for (const processor& one : known_processors()) {
        if (family_of(one) == label && (one.name != one.canonical) == old_names) {
            list.add(old_names ? std::string(one.name) + "=" + std::string(one.canonical) : std::string(one.name));
            any = true;
        }
    }
    return any ? list.text() : "";
}

std::string with_feature(std::string_view name, bool processor::* has) {
    entry list(name, target_column);
    for (const processor& one : known_processors()) {
        if (one.*has && one.name == one.canonical) {
            list.add(one.name);
        }
    }
    return list.text();
}

} // namespace

std::string option_help() {
    std::string out = "--amd-gpu=ITEM[,ITEM...]\n\n";
    for (const option_item& item : option_items()) {
        entry list(usage_of(item), item_column);
        for (std::string_view rest = item.help; !rest.empty();) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            list.add(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        out += list.text();
    }
    out += "\nTargets (and old names for them):\n";
    // Families by number: gfx6 comes before gfx10.
    for (unsigned number = 0; number < 100; ++number) {
        const std::string label = "gfx" + std::to_string(number);
        out += family(label, false) + family(label, true);
    }
    out += family("other", false);
    out += "\nBehind a target, :FEATURE+ or :FEATURE- asks for one mode of a feature:\n";
    return out + with_feature("sramecc", &processor::has_sramecc) + with_feature("xnack", &processor::has_xnack);
}

} // namespace amd_gpu
