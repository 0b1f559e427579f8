// Directories of records. What a wrong owner could have written counts for nothing.
#include "environment/variant_index.hpp"

#include "configuration/settings.hpp"
#include "system/fd.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace amd_gpu {

namespace {

constexpr std::string_view suffix = ".json";
constexpr mode_t directory_mode = 0755;
constexpr mode_t record_mode = 0644;
constexpr std::size_t most_records = 10000; // of one environment

/// Why what was opened counts for nothing; empty when it may be trusted as far as its owner.
std::string distrust(int descriptor, uid_t owner, mode_t kind) {
    struct stat info{};
    if (::fstat(descriptor, &info) != 0)
        return system_error(errno, "fstat").what;
    if ((info.st_mode & S_IFMT) != kind)
        return kind == S_IFDIR ? "no directory" : "no regular file";
    if (info.st_uid != owner && info.st_uid != 0)
        return fmt::format("belongs to uid {}, not to {}", info.st_uid, owner);
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return "may be written by others than its owner";
    return {};
}

std::vector<std::string> names_in(int descriptor) {
    std::vector<std::string> names;
    const int own = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return names;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(own), ::closedir);
    while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr)
        if (const std::string_view name(entry->d_name); name.front() != '.' && names.size() < most_records)
            names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

result<std::string> content_of(int descriptor) {
    std::string text(longest_record + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t count = ::read(descriptor, text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error(errno, "reading");
        if (count == 0)
            break;
        size += static_cast<std::size_t>(count);
    }
    text.resize(size);
    return text;
}

index_entry read_entry(int directory, const std::string& name, const std::string& environment, uid_t owner) {
    index_entry entry;
    // A pipe must not hold us up, and a link leads to what its own checks would have refused.
    const unique_fd file(::openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!file) {
        entry.problem = errno == ELOOP ? "a symbolic link" : system_error(errno, "opening").what;
        return entry;
    }
    entry.problem = distrust(file.get(), owner, S_IFREG);
    if (!entry.problem.empty())
        return entry;
    const result<std::string> text = content_of(file.get());
    result<variant> record = text ? parse_record(*text) : text.failure();
    if (!record)
        entry.problem = record.failure().what;
    else if (record->environment != environment)
        entry.problem = "is a variant of " + record->environment + ", but lies under " + environment;
    else
        entry.record = std::move(*record);
    return entry;
}

/// Opens a directory below another; not there is no failure. `problem`: why it may not be used.
unique_fd open_directory(int above, const std::string& name, uid_t owner, std::string& problem) {
    unique_fd directory(::openat(above, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
    if (directory)
        problem = distrust(directory.get(), owner, S_IFDIR);
    else if (errno != ENOENT)
        problem = system_error(errno, "opening").what;
    return directory;
}

bool better(const index_entry& a, const index_entry& b) {
    if (a.record.environment != b.record.environment)
        return a.record.environment < b.record.environment;
    if (a.record.targets != b.record.targets)
        return a.record.targets < b.record.targets;
    if (a.record.substitutable != b.record.substitutable)
        return a.record.substitutable < b.record.substitutable;
    return a.record.created != b.record.created ? a.record.created > b.record.created : a.file < b.file;
}

} // namespace

result<std::vector<index_entry>> read_index(const std::string& directory, const std::string& environment, uid_t owner) {
    std::vector<index_entry> all;
    std::string problem;
    const auto unusable = [&](const std::string& path) {
        return error{error_code::configuration, fmt::format("the index {}: {}", path, problem)};
    };
    const std::string top = directory + "/v1";
    const unique_fd index = open_directory(AT_FDCWD, top, owner, problem);
    if (!problem.empty())
        return unusable(top);
    if (!index)
        return all;
    const auto environments = environment.empty() ? names_in(index.get()) : std::vector<std::string>{environment};
    for (const std::string& name : environments) {
        const std::string path = top + "/" + name;
        const unique_fd records = open_directory(index.get(), name, owner, problem);
        if (!problem.empty())
            return unusable(path);
        if (!records)
            continue;
        for (const std::string& file : names_in(records.get())) {
            if (!file.ends_with(suffix))
                continue;
            index_entry entry = read_entry(records.get(), file, name, owner);
            entry.file = path + "/" + file;
            all.push_back(std::move(entry));
        }
    }
    std::sort(all.begin(), all.end(), better);
    std::set<std::tuple<std::string, std::vector<target_id>, bool>> seen;
    for (index_entry& entry : all) {
        const variant& record = entry.record;
        entry.superseded =
            entry.problem.empty() && !seen.emplace(record.environment, record.targets, record.substitutable).second;
    }
    return all;
}

std::string record_name(const variant& record) {
    std::string name;
    for (const target_id& target : record.targets)
        name += target.path_text() + "+";
    constexpr std::size_t longest = 100; // with the rest well below NAME_MAX
    constexpr std::size_t digits = 16;
    if (name.size() > longest)
        name = fmt::format("{}-targets+", record.targets.size());
    return fmt::format("{}{}-{}{}", name, record.key().substr(0, digits), record.created, suffix);
}

result<std::string> add_to_index(const std::string& directory, const variant& record) {
    const std::string place = directory + "/v1/" + record.environment;
    if (const status made = make_directories(place, directory_mode); !made)
        return made.failure();
    const std::string file = place + "/" + record_name(record);
    if (const status written = write_file_atomically(file, to_record(record), record_mode); !written)
        return written.failure();
    return file;
}

std::vector<variant_candidate> candidates_of(const std::vector<index_entry>& entries) {
    std::vector<variant_candidate> all;
    for (const index_entry& entry : entries)
        if (entry.problem.empty() && !entry.superseded)
            all.push_back({entry.record, {}});
    return all;
}

result<std::vector<variant_candidate>> indexed_variants(const settings& site, const environment& of) {
    const auto entries = read_index(site.index, of.name, ::geteuid());
    if (!entries)
        return entries.failure();
    auto all = candidates_of(*entries);
    std::erase_if(all, [&](const variant_candidate& one) { return one.found.provider != of.provider; });
    for (variant_candidate& one : all)
        if (one.unusable = place_problem(one.found); one.unusable.empty() && one.found.kept == storage::blob)
            one.unusable = "an image is fetched for environments of the provider bundle only";
    return all;
}

std::string place_problem(const variant& what) {
    if (what.kept == storage::blob)
        return {};
    struct stat info{};
    if (::stat(what.path.c_str(), &info) != 0)
        return errno == ENOENT ? what.path + " is gone" : system_error(errno, what.path).what;
    if (!S_ISDIR(info.st_mode))
        return what.path + " is no directory";
    // An emptied profile would be an environment without variables (`guix package --search-paths` says nothing of it).
    if (what.kept == storage::store && ::access((what.path + "/manifest").c_str(), R_OK) != 0)
        return what.path + " has no manifest: collected as garbage?";
    return {};
}

} // namespace amd_gpu
