#include "discovery/kernel_log.hpp"

#include "system/fd.hpp"
#include "system/files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// More than the largest ring that kernels are built with (Linux init/Kconfig, LOG_BUF_SHIFT up to 25 is for
/// debugging).
constexpr std::size_t most_bytes = 16U << 20;

/// The address in a line: the first word that is one, whatever punctuation follows it.
std::optional<pci_address> address_in(std::string_view line) {
    for (auto word : split(line, ' ')) {
        while (!word.empty() && (word.back() == ':' || word.back() == ','))
            word.pop_back();
        if (word.size() != std::string_view("0000:c1:00.0").size())
            continue;
        if (const auto bdf = pci_address::parse(word))
            return bdf;
    }
    return std::nullopt;
}

void take_line(std::string_view line, probe_errors& errors) {
    constexpr std::string_view failed = "failed with error -";
    const auto at = line.find(failed);
    if (at == std::string_view::npos || line.find("amdgpu") == std::string_view::npos ||
        line.find("probe") == std::string_view::npos) {
        return;
    }
    // A record of /dev/kmsg starts with numbers of its own, up to a semicolon.
    const auto text = line.substr(line.substr(0, at).find(';') + 1);
    const auto number = parse_number(trimmed(line.substr(at + failed.size())));
    const auto bdf = address_in(text);
    if (bdf && number && *number > 0 && *number < 4096) // Linux err.h, MAX_ERRNO
        errors[*bdf] = static_cast<int>(*number);
}

} // namespace

probe_errors parse_probe_errors(std::string_view text) {
    probe_errors errors;
    for (const auto& line : split(text, '\n'))
        take_line(line, errors);
    return errors;
}

probe_errors read_probe_errors(const sysfs& where) {
    const unique_fd log(::open(where.kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    probe_errors errors;
    if (!log)
        return errors;
    // One record a read, of at most this size (Linux kernel/printk/internal.h, PRINTK_MESSAGE_MAX with its prefix).
    std::array<char, 8192> buffer = {};
    std::string rest;
    for (std::size_t seen = 0; seen < most_bytes;) {
        const ssize_t got = ::read(log.get(), buffer.data(), buffer.size());
        if (got < 0 && (errno == EINTR || errno == EPIPE)) // EPIPE: records were overwritten, the next read goes on
            continue;
        if (got <= 0)
            break;
        seen += static_cast<std::size_t>(got);
        rest.append(buffer.data(), static_cast<std::size_t>(got));
        const auto end = rest.rfind('\n');
        if (end == std::string::npos)
            continue;
        for (const auto& [bdf, number] : parse_probe_errors(std::string_view(rest).substr(0, end)))
            errors[bdf] = number;
        rest.erase(0, end + 1);
    }
    return errors;
}

std::string probe_error_text(int number) {
    return fmt::format("error -{} ({})", number, ::strerror(number));
}

} // namespace amd_gpu
