// Help for people who mistype: the nearest of several names, and text of others made fit for a one-line message. Pure.
// It knows no names itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace amd_gpu {

/// Finds the candidate that was most likely meant by a misspelt word: at most two slips away (a letter missing, added,
/// changed, or swapped with its neighbour; case does not count), one slip in a word of up to four letters. Among
/// equally near candidates the one whose changed letters lie closest ("gfx943" is nearer to gfx942 than to gfx940),
/// then the first.
class nearest_name {
  public:
    explicit nearest_name(std::string_view word);

    /// Offers a candidate. What it points at must outlive this object.
    void consider(std::string_view candidate);
    /// The nearest so far; nothing when none was near.
    [[nodiscard]] std::optional<std::string_view> best() const;

  private:
    std::string word_;
    std::size_t slips_;         // of the best so far; before that, one more than is allowed; 0: nothing can be nearer
    std::size_t closeness_ = 0; // tie-break: how far apart changed letters are
    std::string_view best_;
};

/// Whether two words differ in the case of ASCII letters at most.
bool same_letters(std::string_view a, std::string_view b);
/// The text with its ASCII capitals made small.
std::string lower_case(std::string_view text);

/// The text in double quotes, for a message: cut after 40 bytes ("..." then follows the quote), with everything that is
/// not printable ASCII, and quotes and backslashes, escaped.
std::string quoted(std::string_view text);
/// The text with '?' for every control character, which a terminal might obey.
std::string printable(std::string text);

} // namespace amd_gpu
