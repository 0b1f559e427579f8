#include "placement/cpu_core.hpp"

#include <array>
#include <charconv>
#include <fcntl.h>
#include <string>
#include <unistd.h>

namespace amd_gpu {

uint32_t core_of(uint32_t cpu) {
    const std::string path = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list";
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cpu;
    std::array<char, 64> text{};
    const auto got = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    uint32_t first = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + (got > 0 ? got : 0), first);
    return failed == std::errc() && end != text.data() ? first : cpu;
}

} // namespace amd_gpu
