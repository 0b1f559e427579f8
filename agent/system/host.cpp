#include "system/host.hpp"

#include <array>
#include <climits>
#include <cstdlib>
#include <unistd.h>

namespace amd_gpu {

std::string host_name() {
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string slurm_node_name() {
    const char* told = std::getenv("SLURMD_NODENAME"); // NOLINT(concurrency-mt-unsafe): nothing here sets variables
    if (told != nullptr)
        return told;
    const std::string host = host_name();
    return host.empty() ? "localhost" : host.substr(0, host.find('.'));
}

} // namespace amd_gpu
