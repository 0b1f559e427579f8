#include "environment/scheme.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace amd_gpu {

namespace {

constexpr std::size_t longest_text = 64UL << 20;
constexpr unsigned deepest = 100;

error wrong(std::string_view what) {
    return {error_code::configuration, "Scheme data: " + std::string(what)};
}

bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

class scheme_reader {
  public:
    explicit scheme_reader(std::string_view text)
        : text_(text) {}

    /// Skips white space, comments and quote marks.
    void skip() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == ';')
                at_ = std::min(text_.find('\n', at_), text_.size());
            else if (text_.substr(at_, 2) == "#|")
                at_ = std::min(text_.find("|#", at_ + 2), text_.size() - 2) + 2;
            else if (is_space(c) || c == '\'' || c == '`' || c == ',' || text_.substr(at_, 2) == "#~")
                at_ += c == '#' ? 2 : 1;
            else
                return;
        }
    }
    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }

    result<scheme_value> datum(unsigned depth) {
        skip();
        if (at_end())
            return wrong("it ends in the middle of a list");
        const char c = text_[at_];
        if (c == '(' || c == '[')
            return list(depth);
        if (c == ')' || c == ']')
            return wrong("a closing parenthesis too many");
        return c == '"' ? string() : symbol();
    }

  private:
    result<scheme_value> list(unsigned depth) {
        if (depth >= deepest)
            return wrong("too many lists in each other");
        ++at_;
        scheme_value made;
        for (skip(); !at_end() && text_[at_] != ')' && text_[at_] != ']'; skip()) {
            result<scheme_value> item = datum(depth + 1);
            if (!item)
                return item.failure();
            made.items.push_back(std::move(*item));
        }
        if (at_end())
            return wrong("missing closing parenthesis");
        ++at_;
        return made;
    }

    result<scheme_value> string() {
        scheme_value made;
        made.what = scheme_value::kind::text;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] != '\\') {
                made.word += text_[at_];
                continue;
            }
            if (++at_ >= text_.size())
                break;
            const char c = text_[at_];
            made.word += c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        if (at_end())
            return wrong("a string without its end");
        ++at_;
        return made;
    }

    result<scheme_value> symbol() {
        scheme_value made;
        made.what = scheme_value::kind::symbol;
        while (!at_end() && !is_space(text_[at_]) && std::string_view("()[]\";").find(text_[at_]) == std::string::npos)
            made.word += text_[at_++];
        return made;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

const scheme_value* scheme_value::entry(std::string_view name) const {
    const auto found = std::find_if(items.begin(), items.end(), [&](const scheme_value& one) {
        return one.what == kind::list && !one.items.empty() && one.items.front().is_symbol(name);
    });
    return found == items.end() ? nullptr : &*found;
}

result<std::vector<scheme_value>> read_scheme(std::string_view text) {
    if (text.size() > longest_text)
        return wrong(fmt::format("longer than {} bytes", longest_text));
    scheme_reader reader(text);
    std::vector<scheme_value> all;
    for (reader.skip(); !reader.at_end(); reader.skip()) {
        result<scheme_value> one = reader.datum(0);
        if (!one)
            return one.failure();
        all.push_back(std::move(*one));
    }
    return all;
}

std::string scheme_text(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            made += '\\';
        made += c;
    }
    return made + '"';
}

} // namespace amd_gpu
