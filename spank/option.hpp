// The grammar of --amd-gpu, as one table that also makes the help text, the manual's section and the shell completion.
// Pure: text in, request out. It opens no file, asks no agent, and uses libstdc++ alone, because it is part of the
// plugin and is run on text that a user chose, also as root.
#pragma once

#include "result.hpp"
#include "target/target.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Longest accepted option in bytes, and longest NAME of an environment (with ".toml" it must be a file name,
/// NAME_MAX).
inline constexpr std::size_t longest_option = 8192;
inline constexpr std::size_t longest_name = 250;

/// What follows an item's name.
enum class item_kind {
    word,        ///< nothing: "auto"
    target,      ///< the item is itself a target ID
    choice,      ///< "=" and one of the words in argument, separated by '|'
    environment, ///< "=" and NAME or FILE
};

/// What a user asked for. Empty text means "not given": the site's setting holds.
struct request {
    bool off = false;
    bool help = false;
    bool verbose = false;
    std::vector<target_id> targets; ///< sorted, each once; empty means auto
    std::string environment;        ///< NAME, or a FILE, which has a slash
    std::string probe;              ///< off, quick, standard
    std::string mask;               ///< job, rank, none
    std::string bind;               ///< none, closest

    bool operator==(const request&) const = default;

    /// Canonical form: parse_request gives the same request again.
    [[nodiscard]] std::string text() const;
    /// Whether the environment is a FILE and not a NAME.
    [[nodiscard]] bool environment_is_file() const { return environment.find('/') != std::string::npos; }
};

/// One row of the table.
struct option_item {
    std::string_view name; ///< "probe"; "TARGET" stands for every target ID
    item_kind kind = item_kind::word;
    std::string_view argument;              ///< "off|quick|standard", "NAME|FILE", or empty
    std::string_view help;                  ///< one sentence without a full stop
    bool request::* flag = nullptr;         ///< what a word sets
    std::string request::* value = nullptr; ///< what takes the argument
};

/// The table.
std::span<const option_item> option_items();
/// How an item is written: "verbose", "mask=job|rank|none".
std::string usage_of(const option_item& item);

/// Reads the option's value. A mistake is a usage error of one line that names the place (1-based column) and the name
/// that was probably meant; it never echoes more than a few dozen bytes of the text, and those escaped.
result<request> parse_request(std::string_view text);

/// What --amd-gpu=help prints: the items and the known targets, at most 80 columns wide, with a newline at its end.
std::string option_help();

} // namespace amd_gpu
