// JSON lines on standard output.
#include "output.hpp"

#include <cerrno>
#include <unistd.h>

namespace amd_gpu::probes {

void write_line(const record& line) {
    const std::string text = line.dump(-1, ' ', false, record::error_handler_t::replace) + "\n";
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t now = write(STDOUT_FILENO, text.data() + written, text.size() - written);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return;
        written += static_cast<std::size_t>(now);
    }
}

record measurement(const std::string& probe, const std::string& bdf, double value, const std::string& unit,
                   double seconds, std::uint64_t bytes, std::optional<double> clock_mhz) {
    record line{{"type", "measurement"}, {"probe", probe},     {"bdf", bdf},     {"value", value},
                {"unit", unit},          {"seconds", seconds}, {"bytes", bytes}, {"clock_mhz", nullptr}};
    if (clock_mhz)
        line["clock_mhz"] = *clock_mhz;
    return line;
}

record mismatch(const std::string& probe, const std::string& bdf, const verification& found) {
    return {{"type", "mismatch"},
            {"probe", probe},
            {"bdf", bdf},
            {"index", found.first_index},
            {"expected", hexadecimal(found.expected)},
            {"found", hexadecimal(found.found)},
            {"bits", differing_bits(found.expected, found.found)}};
}

std::vector<int> differing_bits(std::uint64_t expected, std::uint64_t found) {
    std::vector<int> bits;
    for (int bit = 0; bit < 64; ++bit)
        if (((expected ^ found) >> bit & 1U) != 0)
            bits.push_back(bit);
    return bits;
}

std::string hexadecimal(std::uint64_t word) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text = "0x";
    for (int shift = 60; shift >= 0; shift -= 4)
        text += digits[word >> shift & 15U];
    return text;
}

} // namespace amd_gpu::probes
