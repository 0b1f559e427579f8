#include "environment/bundle_tree.hpp"

#include "environment/bundle_copy.hpp"
#include "environment/bundle_download.hpp"
#include "system/fd.hpp"
#include "system/file_lock.hpp"
#include "system/files.hpp"
#include "system/process.hpp"
#include "system/sha256.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

constexpr mode_t directory_mode = 0755;
constexpr mode_t file_mode = 0644;

/// One process at a time changes a tree.
result<file_lock> lock_tree(const std::string& tree, deadline until) {
    if (const status made = make_directories(tree + "/blobs/sha256", directory_mode); !made)
        return made.failure();
    auto lock = file_lock::take(tree + "/.lock", file_lock::kind::alone, until, file_mode);
    if (!lock && lock.failure().code == error_code::timed_out)
        return error{error_code::timed_out, "another process is changing " + tree};
    return lock;
}

/// The index that is there; version 0 when there is none yet.
result<bundle_index> index_of(const std::string& tree, const signing_key& key) {
    const std::string file = tree + "/index.json";
    const auto content = read_file(file, longest_index);
    if (!content && content.failure().code == error_code::not_found)
        return bundle_index{};
    if (!content)
        return content.failure();
    const auto signature = read_file(file + ".minisig");
    if (!signature)
        return error{error_code::usage, file + " is not signed"};
    auto index = read_signed({*content, *signature}, {key.public_key()});
    if (!index)
        return error{error_code::usage, file + ": " + index.failure().what};
    return index;
}

/// Writes the next version of an index.
status publish(const std::string& tree, bundle_index index, const signing_key& key, int64_t expires) {
    ++index.version;
    index.expires = expires;
    const std::string text = to_json(index);
    if (const auto read = parse_bundle_index(text); !read) // nodes would refuse it as well
        return error{error_code::usage, "the index would be too large or malformed: " + read.failure().what};
    const auto signature = key.sign(text, fmt::format("version:{} expires:{}", index.version, utc_text(expires)));
    if (!signature)
        return signature.failure();
    if (const status written = write_file_atomically(tree + "/index.json.minisig", *signature, file_mode); !written)
        return written;
    return write_file_atomically(tree + "/index.json", text, file_mode);
}

/// Removes a half-made image.
struct unfinished {
    std::string path;
    ~unfinished() { ::unlink(path.c_str()); }
};

status run_mksquashfs(const image_source& from, const std::string& to, deadline until) {
    command maker;
    maker.arguments = {from.program, from.directory, to,       "-noappend",   "-comp",      "zstd", "-all-root",
                       "-no-xattrs", "-no-progress", "-quiet", "-no-exports", "-mkfs-time", "0"};
    // Times of files stay as they are unless asked for: Python takes a module whose source has another time than its
    // compiled form for changed, and compiles it again at each start.
    if (from.fixed_times)
        maker.arguments.insert(maker.arguments.end(), {"-all-time", "0"});
    maker.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    const auto made = run(maker, until);
    if (!made)
        return made.failure();
    if (made->how == child_result::ending::timed_out)
        return error{error_code::timed_out, "making the image takes longer than it may"};
    if (!made->succeeded())
        return error{error_code::internal, fmt::format("{} {}: {}", from.program, made->text(), made->last_words())};
    return success();
}

/// The variant that an image of this size and hash is.
variant described(const image_source& from, const std::string& sha256, uint64_t bytes) {
    variant made;
    made.environment = from.environment;
    made.provider = "bundle";
    made.targets = from.targets;
    made.kept = storage::blob;
    made.blob = sha256;
    made.blob_bytes = bytes;
    made.mount_point = from.mount_point;
    made.edits = from.edits;
    made.suggests_edits = from.suggests_edits;
    return made;
}

/// Makes the image and gives it the name of its hash.
result<variant> make_image(const std::string& tree, const image_source& from, deadline until) {
    const std::string directory = tree + "/blobs/sha256";
    const unfinished half{fmt::format("{}/.making-{}", directory, ::getpid())};
    if (const status made = run_mksquashfs(from, half.path, until); !made)
        return made.failure();
    const unique_fd file(::open(half.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    struct stat info{};
    if (!file || ::fstat(file.get(), &info) != 0)
        return system_error(errno, half.path);
    const auto hash = sha256_of_file(file.get());
    if (!hash)
        return hash.failure();
    if (::fchmod(file.get(), file_mode) != 0 || ::fsync(file.get()) != 0)
        return system_error(errno, half.path);
    const std::string name = tree + "/" + blob_path(*hash);
    if (::rename(half.path.c_str(), name.c_str()) != 0)
        return system_error(errno, name);
    variant made = described(from, *hash, static_cast<uint64_t>(info.st_size));
    made.created = std::time(nullptr);
    return made;
}

} // namespace

result<variant> add_image(const std::string& tree, const image_source& from, const signing_key& key,
                          std::chrono::seconds valid_for, deadline until, const progress& say) {
    if (!is_environment_name(from.environment))
        return error{error_code::usage, "no environment can have the name \"" + from.environment + "\""};
    struct stat info{};
    if (::stat(from.directory.c_str(), &info) != 0)
        return system_error(errno, from.directory);
    if (!S_ISDIR(info.st_mode))
        return error{error_code::usage, from.directory + ": no directory"};
    const auto lock = lock_tree(tree, until);
    if (!lock)
        return lock.failure();
    auto index = index_of(tree, key);
    if (!index)
        return index.failure();
    // What a node would refuse is refused before an hour of compressing.
    if (const auto checked = parse_record(to_record(described(from, sha256_of(""), 1))); !checked)
        return error{error_code::usage, checked.failure().what};
    say("making the image of " + from.directory);
    auto made = make_image(tree, from, until);
    if (!made)
        return made.failure();
    auto& variants = index->environments[from.environment];
    std::erase_if(variants, [&](const variant_candidate& one) { return one.found.targets == from.targets; });
    variants.push_back({*made, ""});
    if (const status written = publish(tree, std::move(*index), key, std::time(nullptr) + valid_for.count()); !written)
        return written.failure();
    return made;
}

result<int64_t> sign_tree(const std::string& tree, const signing_key& key, std::chrono::seconds valid_for,
                          deadline until) {
    const auto lock = lock_tree(tree, until);
    if (!lock)
        return lock.failure();
    auto index = index_of(tree, key);
    if (!index)
        return index.failure();
    if (index->version == 0)
        return error{error_code::not_found, tree + " holds no index.json"};
    const int64_t expires = std::time(nullptr) + valid_for.count();
    if (const status written = publish(tree, std::move(*index), key, expires); !written)
        return written.failure();
    return expires;
}

} // namespace amd_gpu
