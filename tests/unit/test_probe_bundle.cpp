// Bundles of code objects, made by hand and broken in every way that a length or an offset can be wrong.
#include <catch2/catch.hpp>

#include <cstring>

#include "probes/bundle.hpp"

using namespace amd_gpu::probes;

namespace {

using bytes = std::vector<std::byte>;

void append(bytes& to, const std::string& text) {
    for (const char letter : text)
        to.push_back(static_cast<std::byte>(letter));
}

void append(bytes& to, std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
        to.push_back(static_cast<std::byte>(number >> shift & 0xffU));
}

/// Entries of an id and a content each, contents behind the table.
bytes bundle_of(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::uint64_t offset = 24 + 8;
    for (const auto& [id, content] : entries)
        offset += 24 + id.size();
    bytes made;
    append(made, std::string("__CLANG_OFFLOAD_BUNDLE__"));
    append(made, entries.size());
    for (const auto& [id, content] : entries) {
        append(made, offset);
        append(made, content.size());
        append(made, id.size());
        append(made, id);
        offset += content.size();
    }
    for (const auto& [id, content] : entries)
        append(made, content);
    return made;
}

const std::vector<std::pair<std::string, std::string>> three = {
    {"host-x86_64-unknown-linux--", ""},
    {"hipv4-amdgcn-amd-amdhsa--gfx90a", "one"},
    {"hip-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", "three"},
};

} // namespace

TEST_CASE("a bundle gives its entries for amdgcn", "[probe][bundle]") {
    const bytes made = bundle_of(three);
    const auto entries = read_bundle(made);
    REQUIRE(entries.size() == 2);
    CHECK(entries[0].target == "gfx90a");
    CHECK(entries[0].object.size() == 3);
    CHECK(std::memcmp(entries[0].object.data(), "one", 3) == 0);
    CHECK(entries[1].target == "gfx942:sramecc+:xnack-");
    CHECK(std::memcmp(entries[1].object.data(), "three", 5) == 0);
}

TEST_CASE("a bundle cut short anywhere is none", "[probe][bundle]") {
    const bytes made = bundle_of(three);
    for (std::size_t size = 0; size < made.size(); ++size)
        CHECK(read_bundle(std::span(made).first(size)).empty());
}

TEST_CASE("wrong lengths in a bundle lead nowhere", "[probe][bundle]") {
    const bytes made = bundle_of(three);
    for (std::size_t at = 24; at + 8 <= 24 + 8 + 24; at += 8) {
        bytes broken = made;
        std::memset(broken.data() + at, 0xff, 8);
        CHECK(read_bundle(broken).empty());
    }
    bytes other = made;
    other[0] = std::byte{'C'};
    CHECK(read_bundle(other).empty());
}

TEST_CASE("what is no amdgcn code object is refused", "[probe][bundle]") {
    CHECK_FALSE(read_code_object({}));
    bytes elf(64, std::byte{0});
    std::memcpy(elf.data(),
                "\x7f"
                "ELF\x02\x01\x01\x40",
                8);
    CHECK_FALSE(read_code_object(elf)); // machine 0
    elf[18] = std::byte{224};
    elf[48] = std::byte{0x3f};
    const auto found = read_code_object(elf);
    REQUIRE(found);
    CHECK(found->mach == 0x3f);
    CHECK(found->kernels.empty());
    elf[60] = std::byte{9}; // nine sections that are not there
    elf[40] = std::byte{0xf0};
    CHECK(read_code_object(elf)->kernels.empty());
    CHECK_FALSE(read_code_object(std::span(elf).first(40)));
}
