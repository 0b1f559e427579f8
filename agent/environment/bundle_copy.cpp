#include "environment/bundle_copy.hpp"

#include "system/files.hpp"
#include "system/minisign.hpp"
#include "system/sha256.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr mode_t directory_mode = 0755;
constexpr mode_t file_mode = 0644;
constexpr mode_t lock_mode = 0600;
constexpr std::size_t name_digits = 32;
constexpr std::size_t signature_lines = 4;
constexpr std::size_t longest_copy = longest_index + 8192;

/// Signature and content in one file, so that a crash cannot leave a pair that does not fit.
signed_index parted(const std::string& text) {
    std::size_t end = 0;
    for (std::size_t line = 0; line < signature_lines; ++line) {
        end = text.find('\n', end);
        if (end == std::string::npos)
            return {};
        ++end;
    }
    return {text.substr(end), text.substr(0, end)};
}

} // namespace

result<bundle_index> read_signed(const signed_index& from, const std::vector<std::string>& keys) {
    const auto trusted = verify_signature(from.content, from.signature, keys);
    if (!trusted)
        return trusted.failure();
    return parse_bundle_index(from.content);
}

index_copy::index_copy(const std::string& directory, const std::string& first_url)
    : base_(directory + "/" + sha256_of(first_url).substr(0, name_digits)) {}

result<bool> index_copy::take_turn(deadline until) {
    const std::string directory = base_.substr(0, base_.rfind('/'));
    if (!make_directories(directory, directory_mode))
        return false;
    const std::string file = base_ + ".lock";
    if (!unique_fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, lock_mode)))
        return false;
    auto lock = file_lock::take(file, file_lock::kind::alone, until);
    if (!lock)
        return lock.failure().code == error_code::timed_out
                   ? error{error_code::timed_out, "the index of images is still being fetched for another job"}
                   : lock.failure();
    lock_.emplace(std::move(*lock));
    return true;
}

void index_copy::load() {
    if (const auto text = read_file(base_ + ".signed", longest_copy))
        last = parted(*text);
    const auto text = read_file(base_ + ".json");
    const json notes = text ? json::parse(*text, nullptr, /*allow_exceptions=*/false) : json();
    const auto number = [&notes](const char* key) -> uint64_t {
        return notes.is_object() && notes.contains(key) && notes[key].is_number_unsigned() ? notes[key].get<uint64_t>()
                                                                                           : 0;
    };
    highest = number("highest");
    checked = static_cast<int64_t>(number("checked"));
    tried = static_cast<int64_t>(number("tried"));
}

status index_copy::save() const {
    if (!lock_)
        return success();
    const json notes{{"highest", highest}, {"checked", checked}, {"tried", tried}};
    // The version first: a crash in between then refuses what is older, and fetches the new one again.
    if (const status written = write_file_atomically(base_ + ".json", notes.dump() + "\n", file_mode); !written)
        return written;
    if (last.content.empty())
        return success();
    return write_file_atomically(base_ + ".signed", last.signature + last.content, file_mode);
}

} // namespace amd_gpu
