// The archive of a node's files: what goes in, what stays out, and what is refused on the way back.
#include "snapshot/collect.hpp"
#include "snapshot/hide.hpp"
#include "unit/sysfs_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace amd_gpu;
using kind = archive_entry::kind;
using namespace std::chrono_literals;

namespace {

const archive_entry* find(const node_files& files, const std::string& path) {
    const auto found = std::find_if(files.entries.begin(), files.entries.end(),
                                    [&](const archive_entry& entry) { return entry.path == path; });
    return found == files.entries.end() ? nullptr : &*found;
}

std::string content(const node_files& files, const std::string& path) {
    const auto* entry = find(files, path);
    return entry == nullptr ? "(none)" : entry->content;
}

/// A reader of GPU files that prints fixed lines, whatever the directory.
std::vector<std::string> printing(const std::string& lines) {
    return {"/usr/bin/printf", "%b", lines};
}

node_files collect(const test::sysfs_tree& tree, const std::vector<std::string>& reader) {
    auto files = collect_node_files(tree.where(), reader, 5s, deadline::in(20s));
    REQUIRE(files);
    return std::move(*files);
}

std::string refusal(const std::vector<archive_entry>& entries) {
    const auto bytes = pack(entries, 0);
    REQUIRE(bytes);
    const auto back = unpack(*bytes);
    return back ? "accepted" : back.failure().what;
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("an archive gives back what went in, byte for byte", "[snapshot]") {
    const std::vector<archive_entry> entries = {
        {kind::directory, "node/sys/class", ""},
        {kind::file, "node/sys/empty", ""},
        {kind::file, "node/sys/binary", std::string("\0\xff\n\0", 4)},
        {kind::file, "node/" + std::string(300, 'x') + "/long", "a name longer than the old tar format allows"},
        {kind::link, "node/sys/class/kfd", "../devices/kfd"},
    };
    const auto bytes = pack(entries, 1700000000);
    REQUIRE(bytes);
    const auto back = unpack(*bytes);
    REQUIRE(back);
    CHECK(*back == entries);
    CHECK(*pack(entries, 1700000000) == *bytes);
}

TEST_CASE("an archive that reaches out of its tree is refused", "[snapshot]") {
    CHECK(has(refusal({{kind::file, "/etc/passwd", "x"}}), "leads out"));
    CHECK(has(refusal({{kind::file, "node/../../etc/passwd", "x"}}), "leads out"));
    CHECK(has(refusal({{kind::link, "node/etc", "/etc"}}), "leads out"));
    CHECK(has(refusal({{kind::link, "node/etc", "../../etc"}}), "leads out"));
    CHECK(has(refusal({{kind::link, "node/etc", ""}}), "leads out"));
    CHECK(has(refusal({{kind::link, "node/a", "b"}, {kind::file, "node/a/file", "x"}}), "below a link"));
    CHECK(has(refusal({{kind::file, "node/a/file", "x"}, {kind::link, "node/a", "b"}}), "below a link"));
    CHECK(has(refusal({{kind::link, "node/a", "b"}, {kind::file, "node/a", "x"}}), "a link as well"));
    CHECK(refusal({{kind::link, "node/a", "../node/b"}}) == "accepted");
}

TEST_CASE("an archive that is too large, or none, is refused", "[snapshot]") {
    const auto bytes = pack({{kind::file, "a", std::string(5000, '0')}, {kind::file, "b", std::string(5000, '0')}}, 0);
    REQUIRE(bytes);
    CHECK(unpack(*bytes, {2, 5000, 10000}));
    CHECK_FALSE(unpack(*bytes, {1, 5000, 10000}));
    CHECK_FALSE(unpack(*bytes, {2, 4999, 10000}));
    CHECK_FALSE(unpack(*bytes, {2, 5000, 9999}));
    CHECK_FALSE(unpack(""));
    CHECK_FALSE(unpack("no archive at all"));
    CHECK_FALSE(unpack(std::string_view(*bytes).substr(0, bytes->size() / 2)));
}

TEST_CASE("a snapshot has the files of GPUs, KFD and processors under their own paths", "[snapshot]") {
    const test::two_dies tree;
    tree.write("sys/devices/system/cpu/online", "0-15\n");
    tree.write("sys/devices/system/cpu/cpu3/topology/core_id", "3\n");
    const auto files = collect(tree, printing("? unique_id\n= unique_id 31610a\n/ ras\n"));
    CHECK(content(files, "sys/bus/pci/devices/0000:c1:00.0/vendor") == "0x1002\n");
    CHECK(content(files, "sys/bus/pci/devices/0000:c1:00.0/driver") == "../../../../bus/pci/drivers/amdgpu");
    CHECK(content(files, "sys/bus/pci/devices/0000:c1:00.0/unique_id") == "1a\n");
    CHECK(find(files, "sys/bus/pci/devices/0000:c6:00.0/ras")->what == kind::directory);
    CHECK(content(files, "sys/bus/pci/devices/0000:03:00.0/device") == "0x2000\n");
    CHECK(content(files, "sys/class/kfd/kfd/topology/nodes/2/gpu_id") == "51111\n");
    CHECK(has(content(files, "sys/class/kfd/kfd/topology/nodes/1/io_links/2/properties"), "max_bandwidth 200000"));
    CHECK(content(files, "sys/devices/system/cpu/cpu3/topology/core_id") == "3\n");
    CHECK(content(files, "proc/sys/kernel/osrelease") == "6.6.0-test\n");
    CHECK(files.unreadable.empty());
}

TEST_CASE("a snapshot says nothing of networks, of the machine's serial numbers and of the kernel's addresses",
          "[snapshot]") {
    const test::two_dies tree;
    tree.write("sys/bus/pci/devices/0000:03:00.0/net/eth0/address", "02:00:00:11:22:33\n");
    tree.write("sys/bus/pci/devices/0000:03:00.0/config", std::string(4096, 'c'));
    tree.write("sys/devices/virtual/dmi/id/product_name", "Server\n");
    tree.write("sys/devices/virtual/dmi/id/product_serial", "S123\n");
    tree.write("proc/cmdline", "root=UUID=1 ip=10.0.0.1\n");
    tree.write("proc/modules", "amdgpu 9883648 0 - Live 0xffffffffc0a00000 (OE)\nast 1 0 - Live 0xffffffffc0b00000\n");
    const auto files = collect(tree, printing(""));
    for (const auto& entry : files.entries) {
        CHECK_FALSE(has(entry.path, "/net"));
        CHECK_FALSE(has(entry.path, "serial"));
        CHECK_FALSE(has(entry.path, "cmdline"));
    }
    CHECK(content(files, "sys/bus/pci/devices/0000:03:00.0/config").size() == 256);
    CHECK(content(files, "sys/devices/virtual/dmi/id/product_name") == "Server\n");
    CHECK(content(files, "proc/modules") == "amdgpu 9883648 0 - Live 0x0000000000000000\n"
                                            "ast 1 0 - Live 0x0000000000000000\n");
}

TEST_CASE("a file that hangs is named, and the rest is there", "[snapshot]") {
    const test::two_dies tree;
    const std::vector<std::string> hanging = {
        "/bin/sh", "-c", "echo '? unique_id'; echo '= unique_id 31'; echo '? gpu_metrics'; exec sleep 60"};
    const auto found = collect_node_files(tree.where(), hanging, 300ms, deadline::in(20s));
    REQUIRE(found);
    CHECK(content(*found, "sys/bus/pci/devices/0000:c1:00.0/unique_id") == "1");
    CHECK(content(*found, "sys/bus/pci/devices/0000:c6:00.0/unique_id") == "1");
    const unreadable_file stuck{"sys/bus/pci/devices/0000:c6:00.0/gpu_metrics", "does not answer"};
    CHECK(std::count(found->unreadable.begin(), found->unreadable.end(), stuck) == 1);
}

TEST_CASE("what a reader of GPU files prints is taken with care", "[snapshot]") {
    const auto files = parse_gpu_files("? a\n! a Input/output error\n= b 00ff\n> c 2e2e\n= d 0\n= e 0g\n= ../f 00\n"
                                       "= /g 00\nnonsense\n= \n\n? h\n");
    REQUIRE(files.entries.size() == 2);
    CHECK(files.entries[0] == archive_entry{kind::file, "b", std::string("\0\xff", 2)});
    CHECK(files.entries[1] == archive_entry{kind::link, "c", ".."});
    REQUIRE(files.unreadable.size() == 2);
    CHECK(files.unreadable[0] == unreadable_file{"a", "Input/output error"});
    CHECK(files.unreadable[1] == unreadable_file{"h", "does not answer"});
}

TEST_CASE("hidden ids are the same wherever the same id stands, and distinct ones stay distinct", "[snapshot]") {
    // 0x1a2b3c4d5e6f7081 is 1885667171979194497.
    node_files files;
    const auto put = [&](const std::string& path, const std::string& text) {
        files.entries.push_back({kind::file, path, text});
    };
    put("one/unique_id", "1a2b3c4d5e6f7081\n");
    put("two/unique_id", "1a2b3c4d5e6f7082\n");
    put("none/unique_id", "0000000000000000\n");
    put("broken/unique_id", "not known\n");
    put("one/serial_number", "PCB123\n");
    put("two/serial_number", "PCB123\n");
    put("three/serial_number", "PCB124\n");
    put("none/serial_number", "N/A\n");
    put("kfd/properties", "simd_count 440\nunique_id 1885667171979194497\nhive_id 0\n");
    put("one/xgmi_device_id", "1885667171979194497\n");
    hide_serials(files);
    CHECK(content(files, "one/unique_id") == "1000000000000001\n");
    CHECK(content(files, "two/unique_id") == "1000000000000002\n");
    CHECK(content(files, "none/unique_id") == "0000000000000000\n");
    CHECK(content(files, "broken/unique_id") == "not known\n");
    CHECK(content(files, "one/serial_number") == content(files, "two/serial_number"));
    CHECK(content(files, "one/serial_number") != content(files, "three/serial_number"));
    CHECK(content(files, "one/serial_number") != "PCB123\n");
    CHECK(content(files, "none/serial_number") == "N/A\n");
    CHECK(content(files, "kfd/properties") == "simd_count 440\nunique_id 1152921504606846977\nhive_id 0\n");
    CHECK(content(files, "one/xgmi_device_id") == "1152921504606846977\n");
}
