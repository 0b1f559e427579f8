#include "environment/prune.hpp"

#include "system/files.hpp"

#include <cerrno>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

namespace amd_gpu {

namespace {

constexpr mode_t directory_mode = 0755;

/// DIRECTORY/v1/ENV/NAME.json -> DIRECTORY/retired/ENV/NAME.json
std::string retired_path(const std::string& directory, const std::string& file) {
    return directory + "/retired/" + file.substr((directory + "/v1/").size());
}

status retire(const std::string& directory, const std::string& file) {
    const std::string to = retired_path(directory, file);
    if (const status made = make_directories(to.substr(0, to.rfind('/')), directory_mode); !made)
        return made;
    // The clock of its retirement starts now, not when it was written.
    if (::utime(file.c_str(), nullptr) != 0 || ::rename(file.c_str(), to.c_str()) != 0)
        return system_error(errno, file);
    return success();
}

result<variant> retired_record(const std::string& file) {
    const result<std::string> text = read_file(file, longest_record);
    return text ? parse_record(*text) : text.failure();
}

status remove_retired(const std::string& directory, const std::string& file, const result<variant>& record) {
    const std::string name = record && record->provenance.contains("root") ? record->provenance.at("root") : "";
    if (!name.empty() && name.find('/') == std::string::npos) {
        const std::string root = root_path(directory, name);
        if (::unlink(root.c_str()) != 0 && errno != ENOENT)
            return system_error(errno, root);
    }
    if (::unlink(file.c_str()) != 0 && errno != ENOENT)
        return system_error(errno, file);
    return success();
}

/// Where the variants lie that any record names, also a retired one.
result<std::set<std::string>> places_named(const std::string& directory, uid_t owner) {
    const auto entries = read_index(directory, "", owner);
    if (!entries)
        return entries.failure();
    std::set<std::string> places;
    for (const index_entry& one : *entries)
        places.insert(one.record.path);
    const std::string retired = directory + "/retired";
    for (const std::string& name : list_directory(retired))
        for (const std::string& file : list_directory(retired + "/" + name))
            if (const result<variant> record = retired_record(retired + "/" + name + "/" + file))
                places.insert(record->path);
    return places;
}

} // namespace

std::string root_path(const std::string& directory, const std::string& name) {
    return directory + "/roots/" + name;
}

result<pruned> prune_index(const std::string& directory, const std::string& environment, uid_t owner,
                           std::chrono::seconds older_than, std::time_t now, bool dry_run) {
    const auto entries = read_index(directory, environment, owner);
    if (!entries)
        return entries.failure();
    pruned done;
    for (const index_entry& entry : *entries) {
        if (!entry.superseded)
            continue;
        if (!dry_run)
            if (const status moved = retire(directory, entry.file); !moved)
                return moved.failure();
        done.retired.push_back(entry.file);
    }
    const std::string retired = directory + "/retired";
    for (const std::string& name : list_directory(retired)) {
        if (!environment.empty() && name != environment)
            continue;
        for (const std::string& record : list_directory(retired + "/" + name)) {
            const std::string file = retired + "/" + name + "/" + record;
            struct stat info{};
            if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
                now - info.st_mtim.tv_sec < older_than.count())
                continue;
            const result<variant> what = retired_record(file);
            if (!dry_run)
                if (const status removed = remove_retired(directory, file, what); !removed)
                    return removed.failure();
            done.deleted.push_back(file);
            if (what && !dry_run)
                done.released.push_back(*what);
        }
    }
    if (done.released.empty())
        return done;
    const auto left = places_named(directory, owner);
    if (!left)
        return left.failure();
    std::erase_if(done.released, [&](const variant& one) { return left->contains(one.path); });
    return done;
}

} // namespace amd_gpu
