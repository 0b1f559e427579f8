// Libraries and code objects as HIP's compiler makes them, made for a test by clang; and bundles made by hand, for what
// this clang does not make.
#pragma once

#include "system/process.hpp"
#include "temporary_directory.hpp"

#include <string>
#include <unistd.h>
#include <vector>

namespace amd_gpu {

/// Number as it lies in a file.
template<typename T>
std::string bytes_of(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// A bundle of empty objects for these entries ("hipv4-amdgcn-amd-amdhsa--gfx90a"), each of one page.
inline std::string bundle_of(const std::vector<std::string>& entries, uint64_t object_bytes = 4096) {
    std::string table;
    uint64_t offset = 4096;
    for (const std::string& id : entries) {
        table += bytes_of<uint64_t>(offset) + bytes_of<uint64_t>(object_bytes) + bytes_of<uint64_t>(id.size()) + id;
        offset += object_bytes;
    }
    std::string made = "__CLANG_OFFLOAD_BUNDLE__" + bytes_of<uint64_t>(entries.size()) + table;
    made.resize(offset);
    return made;
}

class hip_objects {
  public:
    static bool can_be_made() {
        return ::access(clang, X_OK) == 0 && ::access("/usr/lib/llvm-19/bin/lld", X_OK) == 0 &&
               ::access("/usr/bin/g++", X_OK) == 0;
    }

    /// An object file with one kernel, or with another body, compiled for these targets. Gives its path; empty when
    /// that failed.
    [[nodiscard]] std::string object(const std::string& name, const std::vector<std::string>& targets,
                                     const std::vector<std::string>& more = {},
                                     const std::optional<std::string>& body = {}) const {
        const std::string source = files_.write(name + ".hip", R"(#define __global__ __attribute__((global))
            struct dim3 { unsigned x, y, z; };
            typedef struct ihipStream_t* hipStream_t;
            extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, hipStream_t);
            )" + body.value_or("__global__ void " + name + "(float* to) { *to = 1; }\n"));
        std::vector<std::string> arguments{clang, "-x", "hip", "-nogpuinc", "-nogpulib", "-fPIC", "-c"};
        for (const std::string& target : targets)
            arguments.push_back("--offload-arch=" + target);
        arguments.insert(arguments.end(), more.begin(), more.end());
        return made(arguments, source, name + ".o");
    }
    /// The code alone, without a host's part: a bundle, or with --no-gpu-bundle-output one code object.
    [[nodiscard]] std::string device_code(const std::string& name, const std::vector<std::string>& targets,
                                          std::vector<std::string> more = {}) const {
        more.emplace_back("--cuda-device-only");
        return object(name, targets, more);
    }
    /// A library of object files, at a path below the directory.
    [[nodiscard]] std::string library(const std::string& file, const std::vector<std::string>& objects,
                                      const std::vector<std::string>& more = {}) const {
        files_.make(file.substr(0, file.rfind('/')));
        std::vector<std::string> arguments{"/usr/bin/g++", "-shared"};
        arguments.insert(arguments.end(), objects.begin(), objects.end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        return made(arguments, "", file);
    }
    /// A library without GPU code, of a source in C++.
    [[nodiscard]] std::string plain_library(const std::string& file, const std::string& source,
                                            const std::vector<std::string>& more = {}) const {
        files_.make(file.substr(0, file.rfind('/')));
        std::vector<std::string> arguments{"/usr/bin/g++", "-shared", "-fPIC"};
        const std::string written = files_.write("plain.cpp", source);
        arguments.push_back(written);
        arguments.insert(arguments.end(), more.begin(), more.end());
        return made(arguments, "", file);
    }

    [[nodiscard]] const temporary_directory& files() const { return files_; }

  private:
    static constexpr const char* clang = "/usr/bin/clang++-19";

    [[nodiscard]] std::string made(std::vector<std::string> arguments, const std::string& source,
                                   const std::string& file) const {
        const std::string path = files_.path() + "/" + file;
        arguments.insert(arguments.end(), {"-o", path});
        if (!source.empty())
            arguments.push_back(source);
        const auto ended =
            run({arguments, {"PATH=/usr/bin:/bin", "LC_ALL=C"}, std::nullopt}, deadline::in(std::chrono::minutes(1)));
        return ended && ended->succeeded() ? path : "";
    }

    temporary_directory files_;
};

} // namespace amd_gpu
