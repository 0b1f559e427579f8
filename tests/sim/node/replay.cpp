// Snapshots (see replay.hpp).
#include "tests/sim/node/replay.hpp"

#include "ranges.hpp"
#include "system/archive.hpp"
#include "tests/sim/node/tree.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace sim {
namespace {

using amd_gpu::archive_entry;
using files = std::vector<archive_entry>;

const std::string top = "node/";

error no_snapshot(const std::string& why) {
    return {error_code::usage, "no snapshot: " + why};
}

/// The host's name from snapshot.json; the name of a host is all that may become one.
result<std::string> host_in(const std::string& manifest) {
    const auto json = nlohmann::json::parse(manifest, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("schema") || json["schema"] != 1) {
        return no_snapshot("snapshot.json has another schema than 1");
    }
    const std::string host = json.contains("host") && json["host"].is_string() ? json["host"].get<std::string>() : "";
    const bool good = host.size() <= 64 && std::all_of(host.begin(), host.end(), [](unsigned char c) {
                          return std::isalnum(c) != 0 || c == '-' || c == '.';
                      });
    return good ? host : std::string();
}

std::string text_of(const files& all, const std::string& path) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const archive_entry& e) { return e.path == path; });
    return found == all.end() ? "" : found->content;
}

/// A list such as "0-127" in a file; empty when it is none.
std::vector<int> numbers_in(const files& all, const std::string& path) {
    std::string text = text_of(all, path);
    text.erase(std::min(text.find_last_not_of("\n") + 1, text.size()));
    const auto numbers = amd_gpu::parse_ranges(text);
    return numbers ? std::vector<int>(numbers->begin(), numbers->end()) : std::vector<int>();
}

/// Whether a name in /sys/class/drm has a device file: "card0" and "renderD128", and no connector.
bool is_device(const std::string& name) {
    for (const std::string prefix : {"card", "renderD"}) {
        if (name.rfind(prefix, 0) == 0 && amd_gpu::parse_decimal(name.substr(prefix.size())).value_or(1024) < 1024) {
            return true;
        }
    }
    return false;
}

status write(const std::string& root, const files& all) {
    tree out(root);
    for (const archive_entry& entry : all) {
        switch (entry.what) {
        case archive_entry::kind::directory:
            out.directory(entry.path);
            break;
        case archive_entry::kind::file:
            out.put(entry.path, entry.content);
            break;
        case archive_entry::kind::link: {
            const auto above = std::filesystem::path(entry.path).parent_path();
            out.link(entry.path, (above / entry.content).lexically_normal().string());
            break;
        }
        }
    }
    for (const char* directory : {"sys/class/drm", "sys/class/net", "sys/bus/pci/devices", "sys/fs/cgroup", "proc"}) {
        out.directory(directory); // there on every node, with or without something in it
    }
    return out.outcome();
}

} // namespace

result<replayed_node> read_snapshot(const std::string& bytes) {
    auto entries = amd_gpu::unpack(bytes);
    if (!entries) {
        return entries.failure();
    }
    const auto host = host_in(text_of(*entries, "snapshot.json"));
    if (!host) {
        return host.failure();
    }
    files all;
    for (archive_entry& entry : *entries) {
        if (entry.path.rfind(top + "sys/", 0) != 0 && entry.path.rfind(top + "proc/", 0) != 0) {
            continue;
        }
        const auto inside = std::filesystem::path(entry.path).parent_path() / entry.content;
        if (entry.what == archive_entry::kind::link && inside.lexically_normal().string().rfind(top, 0) != 0) {
            return no_snapshot(entry.path + " leads out of the node");
        }
        entry.path.erase(0, top.size());
        all.push_back(std::move(entry));
    }

    replayed_node node;
    node.hostname = *host;
    node.view.cpus = numbers_in(all, "sys/devices/system/cpu/online");
    node.view.numa = numbers_in(all, "sys/devices/system/node/has_cpu");
    if (node.view.cpus.empty()) {
        return no_snapshot("it does not say which CPUs are online");
    }
    const std::string drm = "sys/class/drm/";
    for (const archive_entry& entry : all) {
        if (entry.path.rfind(drm, 0) == 0 && is_device(entry.path.substr(drm.size()))) {
            node.view.drm.push_back(entry.path.substr(drm.size()));
        }
        node.view.kfd = node.view.kfd || entry.path == "sys/class/kfd/kfd";
    }
    node.view.write = [all = std::move(all)](const std::string& root) { return write(root, all); };
    return node;
}

} // namespace sim
