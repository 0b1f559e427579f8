// Edit distance with neighbour swaps (optimal string alignment) over short words, and quoting.
#include "target/spelling.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace amd_gpu {
namespace {

constexpr std::size_t longest_word = 31; // no name we know is longer; a longer word is near to nothing
constexpr std::size_t longest_quote = 40;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same(char a, char b) {
    return lower(a) == lower(b);
}

using row = std::array<std::size_t, longest_word + 1>;

// Slips between two words of at most longest_word letters.
std::size_t slips_between(std::string_view a, std::string_view b) {
    row before{};
    row above{};
    row here{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        above[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        here[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = above[j - 1] + (same(a[i - 1], b[j - 1]) ? 0U : 1U);
            here[j] = std::min({above[j] + 1, here[j - 1] + 1, change});
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
                here[j] = std::min(here[j], before[j - 2] + 1);
            }
        }
        before = above;
        above = here;
    }
    return above[b.size()];
}

// How far apart the letters of two words of one length are, place by place; words of other lengths are simply far.
std::size_t letters_apart(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) {
        return 256;
    }
    std::size_t sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<std::size_t>(std::abs(lower(a[i]) - lower(b[i])));
    }
    return sum;
}

} // namespace

nearest_name::nearest_name(std::string_view word)
    : word_(word.substr(0, longest_word))
    // Fewer slips than letters: a word of one letter is not "near" to every other.
    , slips_(word.size() > longest_word ? 0 : std::min<std::size_t>(word.size(), word.size() < 5 ? 2 : 3)) {}

void nearest_name::consider(std::string_view candidate) {
    if (slips_ == 0 || candidate.empty() || candidate.size() > longest_word) {
        return;
    }
    const std::size_t slips = slips_between(word_, candidate);
    const std::size_t apart = letters_apart(word_, candidate);
    if (slips < slips_ || (slips == slips_ && !best_.empty() && apart < closeness_)) {
        slips_ = slips;
        closeness_ = apart;
        best_ = candidate;
    }
}

std::optional<std::string_view> nearest_name::best() const {
    return best_.empty() ? std::nullopt : std::optional(best_);
}

bool same_letters(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, same);
}

std::string lower_case(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), lower);
    return out;
}

std::string quoted(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text.substr(0, longest_quote)) {
        if (c == '"' || c == '\\') {
            out += {'\\', c};
        } else if (c >= ' ' && c <= '~') {
            out += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            out += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
        }
    }
    out += '"';
    return text.size() > longest_quote ? out + "..." : out;
}

std::string printable(std::string text) {
    for (char& letter : text)
        if (static_cast<unsigned char>(letter) < ' ' || letter == '\x7f')
            letter = '?';
    return text;
}

} // namespace amd_gpu
