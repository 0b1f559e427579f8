#include "environment/edit_paths.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string_view>
#include <unistd.h>

namespace amd_gpu {

namespace {

// glibc's names of itself and of its loader on the machines that have these GPUs (elf/ldd, shlib-versions).
constexpr std::string_view c_libraries[] = {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux.so.2",
                                            "ld-linux-aarch64.so.1"};

} // namespace

bool holds_c_library(const std::string& directory) {
    return std::any_of(std::begin(c_libraries), std::end(c_libraries), [&](std::string_view name) {
        return ::access(fmt::format("{}/{}", directory, name).c_str(), F_OK) == 0;
    });
}

void drop_c_library_directories(std::vector<edit>& edits) {
    for (edit& change : edits) {
        if (change.name != "LD_LIBRARY_PATH" || change.what == edit::kind::unset)
            continue;
        auto directories = split(change.value, ':');
        std::erase_if(directories, holds_c_library);
        change.value = fmt::format("{}", fmt::join(directories, ":"));
    }
    std::erase_if(edits, [](const edit& change) {
        return change.name == "LD_LIBRARY_PATH" && change.what != edit::kind::unset && change.value.empty();
    });
}

void move_paths(std::vector<edit>& edits, const std::string& from, const std::string& to) {
    for (edit& change : edits)
        for (auto at = change.value.find(from); at != std::string::npos; at = change.value.find(from, at)) {
            const std::size_t end = at + from.size();
            const bool whole = (at == 0 || change.value[at - 1] == ':' || change.value[at - 1] == '=') &&
                               (end == change.value.size() || change.value[end] == '/' || change.value[end] == ':');
            if (whole)
                change.value.replace(at, from.size(), to);
            at += whole ? to.size() : from.size();
        }
}

} // namespace amd_gpu
