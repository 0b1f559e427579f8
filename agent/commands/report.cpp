// How a command says that it failed, and with which exit status.

#include "commands/commands.hpp"

#include <cstdio>

namespace amd_gpu {

int report(const error& failure) {
    std::fprintf(stderr, "amd-gpu-agent: %s\n", failure.what.c_str());
    switch (failure.code) {
    case error_code::usage:
        return exit_usage;
    case error_code::configuration:
        return exit_configuration;
    default:
        return exit_unavailable;
    }
}

} // namespace amd_gpu
