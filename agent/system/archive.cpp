#include "system/archive.hpp"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <memory>
#include <set>

namespace amd_gpu {
namespace {

using writer = std::unique_ptr<archive, decltype(&archive_write_free)>;
using reader = std::unique_ptr<archive, decltype(&archive_read_free)>;
using header = std::unique_ptr<::archive_entry, decltype(&archive_entry_free)>;

error failure_of(archive* handle, error_code code) {
    const char* reason = archive_error_string(handle);
    return {code, reason != nullptr ? reason : "libarchive fails without a reason"};
}

la_ssize_t append(archive*, void* into, const void* data, std::size_t size) {
    static_cast<std::string*>(into)->append(static_cast<const char*>(data), size);
    return static_cast<la_ssize_t>(size);
}

/// The parts of a path that stays inside the directory it starts from, ".." resolved by its text; false when it does
/// not, or is absolute.
bool walk(std::string_view path, std::vector<std::string_view>& at) {
    if (path.starts_with('/') || path.find('\0') != std::string_view::npos)
        return false;
    while (!path.empty()) {
        const auto end = std::min(path.find('/'), path.size());
        const auto part = path.substr(0, end);
        path.remove_prefix(std::min(end + 1, path.size()));
        if (part == "..") {
            if (at.empty())
                return false;
            at.pop_back();
        } else if (!part.empty() && part != ".") {
            at.push_back(part);
        }
    }
    return true;
}

/// A name as it may stand in an archive, without the slash that tar ends directories with; empty when it may not.
std::string safe_path(std::string_view name) {
    std::vector<std::string_view> parts;
    if (!walk(name, parts) || name.find("..") != std::string_view::npos)
        return {};
    std::string path;
    for (const auto part : parts)
        path += (path.empty() ? "" : "/") + std::string(part);
    return path;
}

bool stays_inside(const std::string& path, std::string_view target) {
    std::vector<std::string_view> at;
    const auto slash = path.rfind('/');
    return !target.empty() && walk(std::string_view(path).substr(0, slash == std::string::npos ? 0 : slash), at) &&
           walk(target, at);
}

result<std::string> read_content(archive* from, std::size_t limit) {
    std::string content;
    char chunk[16384];
    for (;;) {
        const la_ssize_t got = archive_read_data(from, chunk, sizeof chunk);
        if (got < 0)
            return failure_of(from, error_code::usage);
        if (got == 0)
            return content;
        if (content.size() + static_cast<std::size_t>(got) > limit)
            return error{error_code::usage, "larger than a file or an archive may be"};
        content.append(chunk, static_cast<std::size_t>(got));
    }
}

result<archive_entry> read_entry(archive* from, ::archive_entry* about, std::size_t limit) {
    const char* name = archive_entry_pathname(about);
    archive_entry entry;
    entry.path = safe_path(name != nullptr ? name : "");
    if (entry.path.empty())
        return error{error_code::usage, std::string("a name that leads out of the archive: ") + (name ? name : "none")};
    if (archive_entry_hardlink(about) != nullptr)
        return error{error_code::usage, entry.path + ": a hard link"};
    switch (archive_entry_filetype(about)) {
    case AE_IFDIR:
        entry.what = archive_entry::kind::directory;
        return entry;
    case AE_IFLNK: {
        const char* target = archive_entry_symlink(about);
        entry.what = archive_entry::kind::link;
        entry.content = target != nullptr ? target : "";
        if (!stays_inside(entry.path, entry.content))
            return error{error_code::usage, entry.path + ": a link that leads out of the archive"};
        return entry;
    }
    case AE_IFREG: {
        auto content = read_content(from, limit);
        if (!content)
            return content.failure().within(entry.path);
        entry.content = std::move(*content);
        return entry;
    }
    default:
        return error{error_code::usage, entry.path + ": neither a directory nor a file nor a symbolic link"};
    }
}

/// Nothing may lie below a link: whoever writes the tree out would follow it.
status check_links(const std::vector<archive_entry>& entries) {
    std::set<std::string_view> links;
    for (const auto& entry : entries)
        if (entry.what == archive_entry::kind::link)
            links.insert(entry.path);
    for (const auto& entry : entries) {
        const std::string_view path = entry.path;
        for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1))
            if (links.contains(path.substr(0, slash)))
                return error{error_code::usage, entry.path + ": lies below a link"};
        if (entry.what != archive_entry::kind::link && links.contains(path))
            return error{error_code::usage, entry.path + ": is a link as well"};
    }
    return success();
}

} // namespace

result<std::string> pack(const std::vector<archive_entry>& entries, int64_t when) {
    std::string bytes;
    const writer out(archive_write_new(), archive_write_free);
    const header about(archive_entry_new(), archive_entry_free);
    if (!out || !about)
        return error{error_code::internal, "libarchive has no memory"};
    // Without the time of packing in its header, the same node and moment give the same bytes.
    if (archive_write_set_format_pax_restricted(out.get()) != ARCHIVE_OK ||
        archive_write_add_filter_gzip(out.get()) != ARCHIVE_OK ||
        archive_write_set_filter_option(out.get(), "gzip", "timestamp", nullptr) != ARCHIVE_OK ||
        archive_write_set_bytes_in_last_block(out.get(), 1) != ARCHIVE_OK || // no zeros after the end
        archive_write_open(out.get(), &bytes, nullptr, append, nullptr) != ARCHIVE_OK)
        return failure_of(out.get(), error_code::internal);
    for (const auto& entry : entries) {
        archive_entry_clear(about.get());
        archive_entry_set_pathname(about.get(), entry.path.c_str());
        archive_entry_set_mtime(about.get(), when, 0);
        const bool is_file = entry.what == archive_entry::kind::file;
        if (is_file) {
            archive_entry_set_filetype(about.get(), AE_IFREG);
            archive_entry_set_size(about.get(), static_cast<la_int64_t>(entry.content.size()));
        } else if (entry.what == archive_entry::kind::link) {
            archive_entry_set_filetype(about.get(), AE_IFLNK);
            archive_entry_set_symlink(about.get(), entry.content.c_str());
        } else {
            archive_entry_set_filetype(about.get(), AE_IFDIR);
        }
        archive_entry_set_perm(about.get(), entry.what == archive_entry::kind::directory ? 0755 : 0644);
        if (archive_write_header(out.get(), about.get()) != ARCHIVE_OK ||
            (is_file && archive_write_data(out.get(), entry.content.data(), entry.content.size()) !=
                            static_cast<la_ssize_t>(entry.content.size())))
            return failure_of(out.get(), error_code::internal).within(entry.path);
    }
    if (archive_write_close(out.get()) != ARCHIVE_OK)
        return failure_of(out.get(), error_code::internal);
    return bytes;
}

result<std::vector<archive_entry>> unpack(std::string_view bytes, const archive_limits& limits) {
    const reader in(archive_read_new(), archive_read_free);
    if (!in)
        return error{error_code::internal, "libarchive has no memory"};
    if (archive_read_support_format_tar(in.get()) != ARCHIVE_OK ||
        archive_read_support_filter_gzip(in.get()) != ARCHIVE_OK ||
        archive_read_open_memory(in.get(), bytes.data(), bytes.size()) != ARCHIVE_OK)
        return failure_of(in.get(), error_code::usage);
    std::vector<archive_entry> entries;
    std::size_t left = limits.total_bytes;
    for (;;) {
        ::archive_entry* about = nullptr;
        const int state = archive_read_next_header(in.get(), &about);
        if (state == ARCHIVE_EOF)
            break;
        if (state != ARCHIVE_OK)
            return failure_of(in.get(), error_code::usage);
        if (entries.size() == limits.entries)
            return error{error_code::usage, "more entries than an archive may have"};
        auto entry = read_entry(in.get(), about, std::min(limits.file_bytes, left));
        if (!entry)
            return entry.failure();
        left -= entry->content.size();
        entries.push_back(std::move(*entry));
    }
    if (const auto sound = check_links(entries); !sound)
        return sound.failure();
    return entries;
}

} // namespace amd_gpu
