// Finding and reading the libraries of a variant.
#include "environment/library_check.hpp"

#include "system/fd.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace amd_gpu {

namespace {

constexpr std::size_t most_names = 1UL << 20; // in all directories; an interpreter's modules are tens of thousands
constexpr unsigned deepest = 16;

/// A file in memory: only what is looked at is read, of libraries of gigabytes. Whoever replaces a library puts another
/// file in its place; one that is cut short while we read it ends this process.
class mapped_file {
  public:
    static result<mapped_file> open(const std::string& path) {
        struct stat info{};
        // A device or a pipe is not even opened.
        if (::stat(path.c_str(), &info) != 0)
            return system_error(errno, path);
        if (!S_ISREG(info.st_mode))
            return error{error_code::usage, path + " is no regular file"};
        const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!file || ::fstat(file.get(), &info) != 0)
            return system_error(errno, path);
        mapped_file made;
        made.size_ = static_cast<std::size_t>(info.st_size);
        if (made.size_ == 0)
            return made;
        void* const address = ::mmap(nullptr, made.size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (address == MAP_FAILED)
            return system_error(errno, path);
        made.address_ = address;
        return made;
    }
    mapped_file(mapped_file&& other) noexcept
        : address_(std::exchange(other.address_, nullptr))
        , size_(std::exchange(other.size_, 0)) {}
    mapped_file& operator=(mapped_file&&) = delete;
    ~mapped_file() {
        if (address_ != nullptr)
            ::munmap(address_, size_);
    }

    [[nodiscard]] std::string_view bytes() const {
        return address_ == nullptr ? std::string_view{} : std::string_view(static_cast<const char*>(address_), size_);
    }

  private:
    mapped_file() = default;
    void* address_ = nullptr;
    std::size_t size_ = 0;
};

bool is_file(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

/// Where a run path leads that begins at the library's own place.
std::string from_origin(const std::string& run_path, const std::string& file) {
    for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
        if (run_path.starts_with(word))
            return file.substr(0, file.rfind('/')) + run_path.substr(word.size());
    return run_path;
}

result<library_file> read_library(const std::string& path, const std::string& name) {
    const auto file = mapped_file::open(path);
    if (!file)
        return file.failure();
    library_file made{name, read_embedded_code(file->bytes()), read_elf_dynamic(file->bytes()), {}};
    if (!made.linked)
        return made;
    for (const std::string& needed : made.linked->needed)
        for (const std::string& run_path : made.linked->run_paths)
            if (is_file(from_origin(run_path, path) + "/" + needed))
                made.reached.insert(needed);
    return made;
}

bool is_library_name(std::string_view name) {
    return name.ends_with(".so") || name.find(".so.") != std::string_view::npos || name.ends_with(".co") ||
           name.ends_with(".hsaco");
}

/// Goes through a variant's directories.
class walk {
  public:
    walk(std::string path, const struct stat& info, deadline until)
        : path_(std::move(path))
        , until_(until)
        , seen_{{info.st_dev, info.st_ino}} {}

    /// `programs`: every executable file counts, whatever its name.
    [[nodiscard]] status directory(const std::string& name, bool programs, unsigned depth) {
        struct stat info{};
        if (depth > deepest || ::stat((path_ + "/" + name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
            !seen_.emplace(info.st_dev, info.st_ino).second)
            return success();
        for (const std::string& entry : list_directory(path_ + "/" + name)) {
            if (until_.passed())
                return error{error_code::timed_out,
                             fmt::format("reading {} took too long; {} files were read", path_, files_.size())};
            if (++names_ > most_names)
                return error{error_code::unsupported, fmt::format("{} holds more than {} files", path_, most_names)};
            if (const status read = one(name + "/" + entry, entry, programs, depth); !read)
                return read;
        }
        return success();
    }
    std::vector<library_file>& files() { return files_; }

  private:
    status one(const std::string& name, const std::string& entry, bool programs, unsigned depth) {
        struct stat info{};
        if (::stat((path_ + "/" + name).c_str(), &info) != 0)
            return success(); // a link to nowhere
        if (S_ISDIR(info.st_mode))
            return directory(name, programs, depth + 1);
        const bool wanted = programs ? (info.st_mode & S_IXUSR) != 0 : is_library_name(entry);
        if (!S_ISREG(info.st_mode) || !wanted || !seen_.emplace(info.st_dev, info.st_ino).second)
            return success();
        auto read = read_library(path_ + "/" + name, name);
        if (read)
            files_.push_back(std::move(*read));
        else
            files_.push_back({name, {{}, {read.failure().what}, false}, {}, {}});
        return success();
    }

    std::string path_;
    deadline until_;
    std::set<std::pair<dev_t, ino_t>> seen_; ///< directories and files, of which links may lead to the same ones
    std::size_t names_ = 0;
    std::vector<library_file> files_;
};

result<std::vector<library_file>> read_variant(const std::string& path, deadline until) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0)
        return system_error(errno, path);
    if (!S_ISDIR(info.st_mode)) {
        auto one = read_library(path, path);
        return one ? result(std::vector{std::move(*one)}) : one.failure();
    }
    walk through(path, info, until);
    for (const std::string& name : list_directory(path))
        if (name.starts_with("lib") || name == "bin")
            if (const status walked = through.directory(name, name == "bin", 0); !walked)
                return walked.failure();
    return std::move(through.files());
}

} // namespace

result<library_report> check_libraries(const std::string& path, const std::string& program,
                                       const std::vector<target_id>& devices, deadline until) {
    auto files = read_variant(path, until);
    if (!files)
        return files.failure();
    if (!program.empty()) {
        auto one = read_library(program, program);
        if (!one)
            return one.failure();
        if (!one->linked)
            return error{error_code::usage, program + " is neither a program nor a library"};
        files->push_back(std::move(*one));
    }
    library_report made;
    made.looked_at = files->size();
    made.findings = judge_libraries(*files, path, devices);
    std::erase_if(*files, [](const library_file& one) { return one.code.parts.empty() && one.code.problems.empty(); });
    std::sort(files->begin(), files->end(),
              [](const library_file& a, const library_file& b) { return a.name < b.name; });
    made.files = std::move(*files);
    return made;
}

result<std::vector<std::string>> library_findings(const std::string& path, const std::vector<target_id>& devices,
                                                  deadline until) {
    const auto report = check_libraries(path, "", devices, until);
    if (!report)
        return report.failure();
    std::vector<std::string> texts;
    for (const library_finding& one : report->findings)
        if (one.fault)
            texts.push_back(one.text);
    return texts;
}

} // namespace amd_gpu
