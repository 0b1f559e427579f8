// Files, directories and links below one root, and the text forms of CPU sets.
#include "tests/sim/node/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace sim {

tree::tree(const std::string& root)
    : root_(root)
    , handle_(open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (handle_ < 0) {
        fail("", "open");
    }
}

tree::~tree() {
    if (handle_ >= 0) {
        close(handle_);
    }
}

void tree::put(const std::string& path, std::string_view text) {
    if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) {
        directory(path.substr(0, slash));
    }
    const int file = openat(handle_, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (file < 0) {
        return fail(path, "create");
    }
    if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        fail(path, "write");
    }
    close(file);
}

void tree::line(const std::string& path, std::string text) {
    if (!text.empty() && text.back() != '\n') {
        text += '\n';
    }
    put(path, text);
}

void tree::link(const std::string& path, const std::string& target) {
    const std::size_t slash = path.rfind('/');
    const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
    directory(above);
    const std::string relative = std::filesystem::path("/" + target).lexically_relative("/" + above).string();
    if (symlinkat(relative.c_str(), handle_, path.c_str()) != 0 && errno != EEXIST) {
        fail(path, "link");
    }
}

void tree::directory(const std::string& path) {
    if (path.empty() || made_.count(path) != 0) {
        return;
    }
    if (const std::size_t slash = path.rfind('/'); slash != std::string::npos) {
        directory(path.substr(0, slash));
    }
    if (mkdirat(handle_, path.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(path, "make the directory");
    }
    made_.insert(path);
}

void tree::mode(const std::string& path, unsigned bits) {
    if (fchmodat(handle_, path.c_str(), bits, 0) != 0) {
        fail(path, "set the mode of");
    }
}

void tree::remove(const std::string& path) {
    std::error_code failure;
    std::filesystem::remove_all(root_ + "/" + path, failure);
    if (failure) {
        errno = failure.value();
        fail(path, "remove");
    }
    made_.clear();
}

amd_gpu::status tree::outcome() const {
    return failure_.empty() ? amd_gpu::success()
                            : amd_gpu::status(amd_gpu::error{amd_gpu::error_code::internal, failure_});
}

void tree::fail(const std::string& path, const std::string& doing) {
    if (failure_.empty()) {
        failure_ = "cannot " + doing + " " + root_ + "/" + path + ": " + std::strerror(errno);
    }
}

std::string hex(unsigned long long value, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "%0*llx", digits, value);
    return text;
}

std::string cpu_list(std::vector<int> cpus) {
    std::sort(cpus.begin(), cpus.end());
    std::string text;
    for (std::size_t i = 0; i < cpus.size();) {
        std::size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) {
            ++last;
        }
        text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
        text += last > i ? "-" + std::to_string(cpus[last]) : "";
        i = last + 1;
    }
    return text;
}

std::string cpu_mask(const std::vector<int>& cpus, int bits) {
    std::vector<unsigned> groups(static_cast<std::size_t>((bits + 31) / 32), 0U);
    for (const int cpu : cpus) {
        groups[static_cast<std::size_t>(cpu / 32)] |= 1U << (cpu % 32);
    }
    std::string text;
    for (std::size_t i = groups.size(); i-- > 0;) {
        const bool first = i + 1 == groups.size();
        const int digits = first && bits % 32 != 0 ? (bits % 32 + 3) / 4 : 8;
        text += (first ? "" : ",") + hex(groups[i], digits);
    }
    return text;
}

} // namespace sim
