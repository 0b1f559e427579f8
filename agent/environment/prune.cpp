#include "environment/prune.hpp"

#include "system/files.hpp"

#include <cerrno>
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

status remove_retired(const std::string& directory, const std::string& file) {
    const result<std::string> text = read_file(file, longest_record);
    const result<variant> record = text ? parse_record(*text) : text.failure();
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
            if (!dry_run)
                if (const status removed = remove_retired(directory, file); !removed)
                    return removed.failure();
            done.deleted.push_back(file);
        }
    }
    return done;
}

} // namespace amd_gpu
