// What is read out of files with GPU code: of those that compilers make, and of those that are damaged.
#include "environment/code_objects.hpp"

#include "hip_objects.hpp"
#include "system/files.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <zlib.h>
#include <zstd.h>

using namespace amd_gpu;
using strings = std::vector<std::string>;

namespace {

std::string content(const std::string& file) {
    const auto bytes = read_file(file, 64UL << 20);
    REQUIRE(bytes);
    return *bytes;
}

strings texts(const code_part& part) {
    strings all;
    for (const target_id& one : part.targets)
        all.push_back(one.text());
    return all;
}

strings targets_in(std::string_view bytes) {
    const embedded_code code = read_embedded_code(bytes);
    CHECK(code.problems == strings{});
    CHECK(code.all().unknown == strings{});
    return texts(code.all());
}

std::string by_zstd(const std::string& text) {
    std::string made(ZSTD_compressBound(text.size()), '\0');
    made.resize(ZSTD_compress(made.data(), made.size(), text.data(), text.size(), 3));
    return made;
}

std::string by_zlib(const std::string& text) {
    uLongf size = ::compressBound(text.size());
    std::string made(size, '\0');
    ::compress(reinterpret_cast<Bytef*>(made.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
    made.resize(size);
    return made;
}

/// A compressed bundle as clang writes it: LLVM 17 version 1, LLVM 18 to 20 version 2, later ones version 3.
std::string compressed(int version, uint16_t method, const std::string& bundle) {
    const std::string data = method == 0 ? by_zlib(bundle) : by_zstd(bundle);
    std::string made = "CCOB" + bytes_of<uint16_t>(static_cast<uint16_t>(version)) + bytes_of<uint16_t>(method);
    if (version == 2)
        made += bytes_of<uint32_t>(static_cast<uint32_t>(24 + data.size()));
    if (version == 3)
        made += bytes_of<uint64_t>(32 + data.size());
    if (version == 3)
        made += bytes_of<uint64_t>(bundle.size());
    else
        made += bytes_of<uint32_t>(static_cast<uint32_t>(bundle.size()));
    return made + bytes_of<uint64_t>(0x1234567890) + data; // nobody checks the hash
}

std::string padded(std::string bytes, std::size_t alignment = 4096) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return bytes;
}

const strings two = {"host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                     "hipv4-amdgcn-amd-amdhsa--gfx942"};

} // namespace

TEST_CASE("entries of bundles are read as every compiler spelt them", "[code]") {
    const auto targets_of = [](const std::string& id) {
        code_part part;
        add_bundle_entry(id, false, part);
        return texts(part);
    };
    CHECK(targets_of("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == strings{"gfx90a:sramecc+:xnack-"});
    CHECK(targets_of("hip-amdgcn-amd-amdhsa--gfx906") == strings{"gfx906"});
    CHECK(targets_of("hip-amdgcn-amd-amdhsa-gfx906") == strings{"gfx906"});
    CHECK(targets_of("hipv4-amdgcn-amd-amdhsa-unknown-gfx9-4-generic:xnack+") == strings{"gfx9-4-generic:xnack+"});
    CHECK(targets_of("openmp-amdgcn-amd-amdhsa--gfx90a") == strings{"gfx90a"});
    CHECK(targets_of("host-x86_64-unknown-linux--") == strings{});
    CHECK(targets_of("hip-nvptx64-nvidia-cuda--sm_80") == strings{});
    CHECK(targets_of("") == strings{});

    code_part part;
    for (const char* id : {"hipv4-amdgcn-amd-amdhsa--gfx9999", "hipv4-amdgcn-amd-amdhsa--gfx9999",
                           "hipv4-amdgcn-amd-amdhsa--", "hip-spirv64-amd-amdhsa--amdgcnspirv"})
        add_bundle_entry(id, false, part);
    CHECK(part.targets.empty());
    CHECK(part.unknown == strings{"\"\"", "\"gfx9999\""});
    CHECK(part.portable);
}

TEST_CASE("a bundle holds what its table says", "[code]") {
    CHECK(targets_in(bundle_of(two)) == strings{"gfx90a:xnack-", "gfx942"});
    CHECK(targets_in(bundle_of({})) == strings{});
    // an entry without an object is no code
    CHECK(targets_in(bundle_of(two, 0)) == strings{});
}

TEST_CASE("compressed bundles of every version and method are read", "[code]") {
    for (const int version : {1, 2, 3})
        for (const uint16_t method : {0, 1}) {
            INFO("version " << version << " method " << method);
            CHECK(targets_in(compressed(version, method, bundle_of(two))) == strings{"gfx90a:xnack-", "gfx942"});
        }
}

TEST_CASE("of a compressed bundle only the table is decompressed", "[code]") {
    // 2 GiB of zeros: what it would take to hold them is not there
    std::string bundle = bundle_of(two, 1UL << 20);
    CHECK(targets_in(compressed(3, 1, bundle)) == strings{"gfx90a:xnack-", "gfx942"});
    // and what lies behind the table may be damaged
    std::string cut = compressed(1, 1, bundle_of(two, 8UL << 20));
    cut.resize(cut.size() - 100);
    CHECK(targets_in(cut) == strings{"gfx90a:xnack-", "gfx942"});
}

TEST_CASE("bundles that follow one another are parts", "[code]") {
    const std::string other = bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx1100"});
    for (const std::string& bytes :
         {padded(bundle_of(two)) + other, padded(compressed(2, 1, bundle_of(two))) + other,
          compressed(3, 0, bundle_of(two)) + other, // also without padding
          padded(compressed(1, 1, bundle_of(two))) + padded(other), padded(other) + compressed(1, 0, bundle_of(two))}) {
        const embedded_code code = read_embedded_code(bytes);
        CHECK(code.problems == strings{});
        CHECK(code.parts.size() == 2);
        CHECK(texts(code.all()) == strings{"gfx1100", "gfx90a:xnack-", "gfx942"});
    }
}

TEST_CASE("a magic number within compressed data begins no bundle", "[code]") {
    // zstd leaves what it cannot compress as it is
    std::string bundle = bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx942"}, 4096);
    uint32_t random = 1;
    for (std::size_t i = 4096; i < bundle.size(); ++i)
        bundle[i] = static_cast<char>((random = random * 1664525 + 1013904223) >> 24U);
    bundle.replace(5000, 4, "CCOB");
    const std::string bytes = compressed(2, 1, bundle);
    REQUIRE(bytes.find("CCOB", 4) != std::string::npos);
    const embedded_code code = read_embedded_code(padded(bytes) + bundle_of(two));
    CHECK(code.problems == strings{});
    CHECK(code.parts.size() == 2);
}

TEST_CASE("damage is said, and the rest is read", "[code]") {
    const std::string good = bundle_of({"hipv4-amdgcn-amd-amdhsa--gfx1100"});
    const auto problem = [&](const std::string& first) {
        const embedded_code code = read_embedded_code(padded(first) + good);
        CHECK(texts(code.all()) == strings{"gfx1100"});
        REQUIRE(code.problems.size() == 1);
        return code.problems[0];
    };
    CHECK(problem("CCOB" + bytes_of<uint16_t>(4) + std::string(100, 'x')) == "a compressed bundle of version 4");
    CHECK(problem("CCOB" + bytes_of<uint16_t>(2) + bytes_of<uint16_t>(7) + bytes_of<uint32_t>(4096) +
                  std::string(100, 'x')) == "a bundle compressed by method 7");
    std::string broken = compressed(2, 1, bundle_of(two));
    broken.replace(24, 8, "nonsense");
    CHECK(problem(broken) == "a compressed bundle that is damaged");
    std::string entries = bundle_of(two);
    entries.replace(24, 8, bytes_of<uint64_t>(100000));
    CHECK(problem(entries.substr(0, 4096)) == "a bundle that is cut off or damaged");
    std::string long_name = bundle_of(two);
    long_name.replace(24 + 8 + 16, 8, bytes_of<uint64_t>(UINT64_MAX));
    CHECK(problem(long_name.substr(0, 4096)) == "a bundle that is cut off or damaged");

    const std::string whole = compressed(2, 1, bundle_of(two));
    const embedded_code cut = read_embedded_code(whole.substr(0, whole.size() - 1));
    CHECK(cut.problems == strings{"a compressed bundle that is cut off"});
    CHECK(cut.parts.empty());
}

TEST_CASE("what has no GPU code holds none", "[code]") {
    for (const std::string& bytes : {std::string(),
                                     std::string("\x7f"
                                                 "ELF"),
                                     std::string("#!/bin/sh\n"), std::string(4096, '\0'), content("/proc/self/exe")}) {
        const embedded_code code = read_embedded_code(bytes);
        CHECK(code.parts.empty());
        CHECK(code.problems.empty());
        CHECK_FALSE(code.expected);
    }
}

TEST_CASE("the probe's own kernels are read", "[code]") {
    const auto bytes = read_file("build/kernels/kernels.hipfb", 64UL << 20);
    if (!bytes)
        return; // built without a compiler for amdgcn, or apart
    CHECK(targets_in(*bytes) == strings{"gfx1030", "gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201", "gfx906",
                                        "gfx908", "gfx90a", "gfx940", "gfx942"});
}

TEST_CASE("code objects say their target in their flags", "[code]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    for (const std::string target :
         {"gfx906", "gfx908:sramecc-:xnack+", "gfx90a", "gfx90a:sramecc+:xnack-", "gfx90a:xnack+", "gfx940", "gfx942",
          "gfx942:sramecc+", "gfx1030", "gfx1013:xnack-", "gfx1100", "gfx1201", "gfx803"})
        for (const char* version : {"4", "5"}) {
            INFO(target << " version " << version);
            const auto file = clang.device_code(
                "one", {target}, {"--no-gpu-bundle-output", std::string("-mcode-object-version=") + version});
            REQUIRE_FALSE(file.empty());
            CHECK(targets_in(content(file)) == strings{target});
        }
    for (const std::string target : {"gfx9-generic", "gfx10-3-generic", "gfx11-generic", "gfx12-generic"}) {
        const auto file = clang.device_code("one", {target}, {"--no-gpu-bundle-output", "-mcode-object-version=6"});
        if (file.empty())
            continue; // this clang does not know it
        INFO(target);
        CHECK(targets_in(content(file)) == strings{target});
    }
}

TEST_CASE("code objects of other kinds are not guessed at", "[code]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    const auto file = clang.device_code("one", {"gfx90a"}, {"--no-gpu-bundle-output"});
    REQUIRE_FALSE(file.empty());
    const std::string good = content(file);
    const auto with = [&](uint8_t abi_version, uint32_t flags) {
        std::string changed = good;
        changed[8] = static_cast<char>(abi_version);
        changed.replace(48, 4, bytes_of(flags));
        return read_embedded_code(changed);
    };
    // version 3 has one bit for each feature: on, or off
    CHECK(texts(with(1, 0x23f).all()) == strings{"gfx90a:sramecc+:xnack-"});
    CHECK(texts(with(1, 0x13f).all()) == strings{"gfx90a:sramecc-:xnack+"});
    CHECK(texts(with(1, 0x036).all()) == strings{"gfx1030"});
    // a processor that is not known, and generic code of a version that nothing can run
    CHECK(with(4, 0x0fe).all().unknown == strings{"processor 0xfe"});
    CHECK(with(4, 0x336).all().unknown == strings{"gfx1030:xnack+"});
    CHECK(with(4, 0x05f).all().unknown == strings{"gfx9-4-generic of version 0"});
    CHECK(texts(with(4, 0x0100055f).all()) == strings{"gfx9-4-generic"});
    // version 2 keeps its target elsewhere
    CHECK(with(0, 0x03f).parts.empty());
    CHECK(with(0, 0x03f).problems.size() == 1);
}

TEST_CASE("libraries that HIP's compiler made hold what they were compiled for", "[code]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    const auto first = clang.object("first", {"gfx90a:xnack-", "gfx942"});
    const auto second = clang.object("second", {"gfx942"}, {"--offload-compress"});
    const auto third = clang.object("third", {"gfx1100"});
    REQUIRE_FALSE((first.empty() || second.empty() || third.empty()));
    const auto library = clang.library("lib/liball.so", {first, second, third});
    REQUIRE_FALSE(library.empty());
    const embedded_code code = read_embedded_code(content(library));
    CHECK(code.problems == strings{});
    CHECK(code.expected);
    REQUIRE(code.parts.size() == 3);
    CHECK(texts(code.parts[0]) == strings{"gfx90a:xnack-", "gfx942"});
    CHECK(texts(code.parts[1]) == strings{"gfx942"});
    CHECK(texts(code.parts[2]) == strings{"gfx1100"});
}

TEST_CASE("code objects without a kernel are told from others", "[code]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    for (const strings& more : {strings{}, strings{"--offload-compress"}}) {
        const auto empty = clang.object(
            "empty", {"gfx90a", "gfx942"}, more,
            "#if !defined(__HIP_DEVICE_COMPILE__)\n__global__ void empty(float* to) { *to = 1; }\n#endif\n");
        const auto guarded =
            clang.object("guarded", {"gfx90a", "gfx942"}, more,
                         "#if !defined(__gfx90a__)\n__global__ void guarded(float* to) { *to = 1; }\n#endif\n");
        REQUIRE_FALSE((empty.empty() || guarded.empty()));
        const embedded_code code = read_embedded_code(content(clang.library("lib/liball.so", {empty, guarded})));
        CHECK(code.problems == strings{});
        REQUIRE(code.parts.size() == 2);
        CHECK(code.parts[0].empty());
        CHECK(code.parts[0].hollow.size() == 2);
        CHECK(texts(code.parts[1]) == strings{"gfx942"});
        CHECK(texts(code.all()) == strings{"gfx942"});
        REQUIRE(code.all().hollow.size() == 1);
        CHECK(code.all().hollow[0].text() == "gfx90a");
    }
}

TEST_CASE("a library whose code was taken out registers code that it does not hold", "[code]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    const auto library = clang.library("lib/libempty.so", {clang.object("first", {"gfx90a"})});
    REQUIRE_FALSE(library.empty());
    const auto strip = run({{"/usr/bin/objcopy", "--remove-section=.hip_fatbin", library}, {}, std::nullopt},
                           deadline::in(std::chrono::seconds(20)));
    REQUIRE(strip);
    REQUIRE(strip->succeeded());
    const embedded_code code = read_embedded_code(content(library));
    CHECK(code.expected);
    CHECK(code.parts.empty());
    CHECK(code.problems.empty());

    // where it was put into an archive of its own, nothing is known of it
    const std::string reference = clang.files().write("reference", "kernels.kpack");
    const auto apart = run({{"/usr/bin/objcopy", "--add-section=.rocm_kpack_ref=" + reference, library}, {}, {}},
                           deadline::in(std::chrono::seconds(20)));
    REQUIRE(apart);
    REQUIRE(apart->succeeded());
    const embedded_code unknown = read_embedded_code(content(library));
    CHECK(unknown.parts.empty());
    REQUIRE(unknown.problems.size() == 1);
    CHECK_THAT(unknown.problems[0], Catch::Contains(".kpack"));
}

TEST_CASE("every known processor has a number in code objects, and the number names it", "[target]") {
    for (const processor& one : known_processors()) {
        INFO(one.name);
        if (one.name != one.canonical || one.name.starts_with("generic"))
            continue;
        REQUIRE(processor_of_mach(one.mach) != nullptr);
        CHECK(processor_of_mach(one.mach)->name == one.name);
    }
    CHECK(processor_of_mach(0) == nullptr);
    CHECK(processor_of_mach(0xff) == nullptr);
    CHECK(processor_of_mach(0x3f)->name == "gfx90a");
}
