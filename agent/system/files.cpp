#include "system/files.hpp"

#include "system/fd.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace amd_gpu {

error system_error(int number, const std::string& what) {
    error_code code = error_code::internal;
    if (number == ENOENT || number == ENOTDIR || number == ENODEV || number == ENXIO)
        code = error_code::not_found;
    if (number == EACCES || number == EPERM)
        code = error_code::permission;
    if (number == ETIMEDOUT)
        code = error_code::timed_out;
    return {code, what + ": " + std::strerror(number)};
}

result<std::string> read_file(const std::string& path, std::size_t limit) {
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file)
        return system_error(errno, path);
    std::string content;
    // One byte more than allowed tells "exactly as large" from "larger"; sysfs files lie about their size.
    while (content.size() <= limit) {
        char chunk[16384];
        const ssize_t got = ::read(file.get(), chunk, std::min(sizeof chunk, limit + 1 - content.size()));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return system_error(errno, path);
        if (got == 0)
            return content;
        content.append(chunk, static_cast<std::size_t>(got));
    }
    return error{error_code::unsupported, path + ": larger than " + std::to_string(limit) + " bytes"};
}

std::optional<std::string> read_line(const std::string& path) {
    const auto content = read_file(path, 64U << 10);
    if (!content)
        return std::nullopt;
    const auto line = trimmed(std::string_view(*content).substr(0, content->find('\n')));
    if (line.empty())
        return std::nullopt;
    return std::string(line);
}

std::optional<uint64_t> read_number(const std::string& path) {
    const auto line = read_line(path);
    return line ? parse_number(*line) : std::nullopt;
}

std::optional<std::string> read_link(const std::string& path) {
    char target[4096];
    const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
    if (length < 0 || static_cast<std::size_t>(length) == sizeof target)
        return std::nullopt;
    return std::string(target, static_cast<std::size_t>(length));
}

std::vector<std::string> list_directory(const std::string& path) {
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
    std::vector<std::string> names;
    if (!directory)
        return names;
    while (const dirent* entry = ::readdir(directory.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..")
            names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

status write_file_atomically(const std::string& path, std::string_view content, mode_t mode) {
    std::string temporary = path + ".XXXXXX";
    unique_fd file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file)
        return system_error(errno, temporary);
    const auto fail = [&](const char* what) {
        const error failure = system_error(errno, temporary + ": " + what);
        ::unlink(temporary.c_str());
        return failure;
    };
    while (!content.empty()) {
        const ssize_t written = ::write(file.get(), content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail("write");
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::fchmod(file.get(), mode) != 0)
        return fail("chmod");
    if (::fsync(file.get()) != 0)
        return fail("fsync");
    if (::rename(temporary.c_str(), path.c_str()) != 0)
        return fail("rename");
    // The new name itself is on disk only when its directory is.
    const std::string parent = path.substr(0, path.rfind('/') + 1);
    const unique_fd directory(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory || ::fsync(directory.get()) != 0)
        return system_error(errno, parent);
    return success();
}

status make_directories(const std::string& path, mode_t mode) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string part = path.substr(0, end);
        if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST)
            return system_error(errno, part);
        if (end == std::string::npos)
            return success();
    }
}

std::optional<uint64_t> parse_number(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (problem != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\r\n\f\v";
    const auto first = text.find_first_not_of(space);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string replaced(std::string text, std::string_view what, const std::string& by) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

} // namespace amd_gpu
