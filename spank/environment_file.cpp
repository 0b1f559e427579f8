#include "spank/environment_file.hpp"

#include "spank/sha256.hpp"
#include "system/fd.hpp"
#include "target/spelling.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

constexpr std::string_view digest_prefix = "sha256:";
constexpr std::size_t digest_digits = 64;

/// Why what was opened is no manifest; empty when it may be one.
std::string_view refusal(const struct stat& info) {
    if (S_ISDIR(info.st_mode))
        return "is a directory; name the file in it";
    if (!S_ISREG(info.st_mode))
        return "is no regular file";
    if (info.st_size > static_cast<off_t>(longest_environment_file))
        return "is longer than 1 MiB; a manifest lists packages, and refers to other files by name";
    return {};
}

} // namespace

result<std::string> environment_of_file(const std::string& path) {
    const auto wrong = [&](std::string_view why) {
        return error{error_code::usage, "env=" + quoted(path) + ": " + std::string(why)};
    };
    // Non-blocking, so that a pipe without a writer holds nobody up.
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file)
        return wrong(std::string("cannot be read: ") + std::strerror(errno));
    struct stat info{};
    if (::fstat(file.get(), &info) != 0)
        return wrong(std::string("cannot be looked at: ") + std::strerror(errno));
    if (const auto why = refusal(info); !why.empty())
        return wrong(why);
    std::string content(longest_environment_file + 1, '\0');
    std::size_t size = 0;
    while (size < content.size()) {
        const ssize_t count = ::read(file.get(), content.data() + size, content.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return wrong(std::string("cannot be read: ") + std::strerror(errno));
        if (count == 0)
            break;
        size += static_cast<std::size_t>(count);
    }
    if (size == 0)
        return wrong("is empty");
    if (size > longest_environment_file)
        return wrong("grew beyond 1 MiB");
    return std::string(digest_prefix) + sha256_digits(std::string_view(content).substr(0, size));
}

std::optional<carried_file> parse_carried_file(std::string_view text) {
    constexpr std::size_t name_length = digest_prefix.size() + digest_digits;
    if (text.size() <= name_length + 1 || !text.starts_with(digest_prefix) || text[name_length] != ' ')
        return std::nullopt;
    const std::string_view digits = text.substr(digest_prefix.size(), digest_digits);
    if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    return carried_file{std::string(text.substr(0, name_length)), std::string(text.substr(name_length + 1))};
}

std::string told_by_path(std::string text, const carried_file& file) {
    for (std::size_t at = text.find(file.name); at != std::string::npos;
         at = text.find(file.name, at + file.path.size()))
        text.replace(at, file.name.size(), file.path);
    return text;
}

} // namespace amd_gpu
