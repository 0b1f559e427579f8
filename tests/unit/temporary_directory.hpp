// A directory for one test, removed with everything in it when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace amd_gpu {

class temporary_directory {
  public:
    temporary_directory()
        : path_((std::filesystem::temp_directory_path() / "amd-gpu-test.XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr)
            throw std::runtime_error("cannot make " + path_);
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::string& path() const { return path_; }

    /// Writes a file below it, with the directories above that file, and gives its path.
    std::string write(const std::string& name, const std::string& content) const {
        const std::filesystem::path file = std::filesystem::path(path_) / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << content;
        return file.string();
    }
    /// Makes a directory below it and gives its path.
    std::string make(const std::string& name) const {
        const std::filesystem::path made = std::filesystem::path(path_) / name;
        std::filesystem::create_directories(made);
        return made.string();
    }

  private:
    std::string path_;
};

} // namespace amd_gpu
