// Libraries that lack code, or do not fit each other: as made up for the judge, and as compilers make them.
#include "environment/library_check.hpp"

#include "hip_objects.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

using namespace amd_gpu;
using strings = std::vector<std::string>;

namespace {

target_id target(const std::string& text) {
    return *parse_target(text);
}

const target_id mi250x = target("gfx90a:sramecc+:xnack-");
const target_id mi300x = target("gfx942:sramecc+:xnack-");

code_part part(const strings& targets) {
    code_part made;
    for (const std::string& one : targets)
        made.targets.push_back(target(one));
    return made;
}

library_file file(const std::string& name, const std::vector<code_part>& parts) {
    return {name, {parts, {}, false}, {}, {}};
}

library_file linked(const std::string& name, elf_dynamic how) {
    return {name, {}, std::move(how), {}};
}

elf_dynamic named(const std::string& soname) {
    elf_dynamic made;
    made.soname = soname;
    return made;
}

elf_dynamic needs(const strings& libraries) {
    elf_dynamic made;
    made.needed = libraries;
    return made;
}

strings texts(const std::vector<library_finding>& found) {
    strings all;
    for (const library_finding& one : found)
        all.push_back((one.fault ? "fault: " : "note: ") + one.text);
    return all;
}

strings judged(const std::vector<library_file>& files, const std::vector<target_id>& devices = {mi250x},
               const std::string& path = "/apps/view") {
    return texts(judge_libraries(files, path, devices));
}

} // namespace

TEST_CASE("a library without code for a device is named, with what it holds", "[libraries]") {
    const auto library = file("lib/librccl.so.1", {part({"gfx1100", "gfx942"})});
    CHECK(judged({library}) ==
          strings{"fault: lib/librccl.so.1 has no code for gfx90a:sramecc+:xnack- (it holds gfx1100, gfx942)"});
    CHECK(judged({library}, {mi300x}).empty());
    CHECK(judged({library}, {mi250x, mi300x}).size() == 1);
    CHECK(judged({library}, {}).empty());
}

TEST_CASE("features and generic targets count as they do for variants", "[libraries]") {
    CHECK(judged({file("lib/liba.so", {part({"gfx90a:xnack+"})})}) ==
          strings{"fault: lib/liba.so has no code for gfx90a:sramecc+:xnack- (it holds gfx90a:xnack+)"});
    CHECK(judged({file("lib/liba.so", {part({"gfx90a:xnack+", "gfx90a:xnack-"})})}).empty());
    CHECK(judged({file("lib/liba.so", {part({"gfx9-4-generic"})})}, {mi300x}).empty());
    CHECK(judged({file("lib/liba.so", {part({"gfx9-4-generic"})})}).size() == 1);
    code_part portable;
    portable.portable = true;
    CHECK(judged({file("lib/liba.so", {portable})}).empty());
    code_part later = part({"gfx942"});
    later.unknown = {"\"gfx1310\""};
    CHECK(judged({file("lib/liba.so", {later})}) ==
          strings{"fault: lib/liba.so has no code for gfx90a:sramecc+:xnack- (it holds gfx942, \"gfx1310\")"});
}

TEST_CASE("a device whose modes are not known is not refused for them", "[libraries]") {
    CHECK(judged({file("lib/liba.so", {part({"gfx90a:xnack-"})})}, {target("gfx90a")}) ==
          strings{"note: lib/liba.so has code for gfx90a in some modes only (it holds gfx90a:xnack-)"});
    CHECK(judged({file("lib/liba.so", {part({"gfx90a:xnack-"})})}, {target("gfx90a:xnack+")}) ==
          strings{"fault: lib/liba.so has no code for gfx90a:xnack+ (it holds gfx90a:xnack-)"});
}

TEST_CASE("a library that lacks code in some of its parts is worth knowing", "[libraries]") {
    CHECK(judged({file("lib/liba.so", {part({"gfx90a", "gfx942"}), part({"gfx942"}), part({"gfx942"})})}) ==
          strings{"note: lib/liba.so has no code for gfx90a:sramecc+:xnack- in 2 of its 3 parts"});
}

TEST_CASE("code objects that are files of their own count by directory", "[libraries]") {
    const std::vector<library_file> rocblas = {
        file("lib/rocblas/library/Kernels.so-000-gfx90a-xnack-.hsaco", {part({"gfx90a:xnack-"})}),
        file("lib/rocblas/library/Kernels.so-000-gfx942.hsaco", {part({"gfx942"})}),
        file("lib/rocblas/library/TensileLibrary_gfx942.co", {part({"gfx942"})})};
    CHECK(judged(rocblas, {mi250x, mi300x}).empty());
    CHECK(judged(rocblas, {target("gfx1100")}) ==
          strings{"fault: lib/rocblas/library has no code for gfx1100 (it holds gfx90a:xnack-, gfx942)"});
}

TEST_CASE("a package whose kernels were left out is found without any device", "[libraries]") {
    library_file empty = file("lib/librccl.so.1", {});
    CHECK(judged({empty}).empty()); // a library like any other
    empty.code.expected = true;
    CHECK(judged({empty}, {}) ==
          strings{"fault: lib/librccl.so.1 registers GPU code with HIP, but holds none for any GPU"});
    // what cannot be read is not missing
    empty.code.problems = {"a compressed bundle of version 4"};
    CHECK(judged({empty}) ==
          strings{"note: lib/librccl.so.1 holds what cannot be read: a compressed bundle of version 4"});
    library_file some = file("lib/liba.so", {part({"gfx942"})});
    some.code.problems = empty.code.problems;
    CHECK(judged({some}) == strings{"note: lib/liba.so has no code for gfx90a:sramecc+:xnack- (it holds gfx942)",
                                    "note: lib/liba.so holds what cannot be read: a compressed bundle of version 4"});
}

TEST_CASE("code objects without kernels are no code, where others have some", "[libraries]") {
    code_part guarded = part({"gfx942"});
    guarded.hollow = {target("gfx90a")};
    CHECK(judged({file("lib/librccl.so.1", {guarded})}) ==
          strings{"fault: lib/librccl.so.1 has no kernels for gfx90a:sramecc+:xnack- (it has some for gfx942)"});
    // a source without kernels, beside one that has them
    code_part host_only;
    host_only.hollow = {target("gfx942")};
    CHECK(judged({file("lib/liba.so", {part({"gfx90a"}), host_only})}).empty());
    // a library of such sources alone runs nothing on a GPU
    CHECK(judged({file("lib/liba.so", {host_only, host_only})}).empty());
}

TEST_CASE("MPI's part for GPUs that needs another HIP is named with both versions", "[libraries][case:VER-1]") {
    const auto hip = linked("lib/libamdhip64.so.7.1.0", named("libamdhip64.so.7"));
    const auto gtl = linked("lib/libmpi_gtl_hsa.so.0", needs({"libc.so.6", "libamdhip64.so.6"}));
    CHECK(judged({gtl, hip}) == strings{"fault: lib/libmpi_gtl_hsa.so.0 needs libamdhip64.so.6, but "
                                        "lib/libamdhip64.so.7.1.0 is libamdhip64.so.7"});
    // also where its own run path leads to that other one: both would be in one process
    auto elsewhere = gtl;
    elsewhere.reached = {"libamdhip64.so.6"};
    CHECK(judged({elsewhere, hip}).size() == 1);
    CHECK(judged({linked("lib/libmpi_gtl_hsa.so.0", needs({"libamdhip64.so.7"})), hip}).empty());
    const auto both = linked("lib/compat/libamdhip64.so.6.4.0", named("libamdhip64.so.6"));
    CHECK(judged({gtl, hip, both}).empty());
    // libraries of the system come in several versions, and that is how it should be
    CHECK(judged({linked("lib/liba.so", needs({"libssl.so.1.1"})), linked("lib/libssl.so.3", named("libssl.so.3"))})
              .empty());
}

TEST_CASE("a variant whose ROCm would come from elsewhere is worth knowing", "[libraries][case:VER-7]") {
    auto library = linked("lib/liba.so", needs({"librocblas.so.5"}));
    CHECK(judged({library}) ==
          strings{"note: lib/liba.so needs librocblas.so.5, which is not here: it would come from the system"});
    library.reached = {"librocblas.so.5"};
    CHECK(judged({library}).empty());
    library.linked->run_paths = {"$ORIGIN", "/opt/rocm-6.4.2/lib"};
    CHECK(judged({library}) ==
          strings{"note: lib/liba.so looks for libraries in /opt/rocm-6.4.2/lib, which belongs to another ROCm"});
    CHECK(judged({library}, {mi250x}, "/opt/rocm-6.4.2").empty());
}

TEST_CASE("symbol versions that the library which is there lacks are named", "[libraries][case:VER-3]") {
    auto standard = named("libstdc++.so.6");
    standard.versions = {"GLIBCXX_3.4", "GLIBCXX_3.4.9", "GLIBCXX_3.4.30", "CXXABI_1.3.13"};
    auto user = needs({"libstdc++.so.6"});
    user.needed_versions["libstdc++.so.6"] = {"GLIBCXX_3.4", "GLIBCXX_3.4.32", "CXXABI_1.3.15"};
    const strings expected = {
        "fault: lib/liba.so needs CXXABI_1.3.15, which lib64/libstdc++.so.6 does not have (it ends with CXXABI_1.3.13)",
        "fault: lib/liba.so needs GLIBCXX_3.4.32, which lib64/libstdc++.so.6 does not have (it ends with "
        "GLIBCXX_3.4.30)"};
    CHECK(judged({linked("lib/liba.so", user), linked("lib64/libstdc++.so.6", standard)}) == expected);
    // without one in the variant it is the system's, of which nothing is known here
    CHECK(judged({linked("lib/liba.so", user)}).empty());
    auto newer = standard;
    newer.versions.insert({"GLIBCXX_3.4.32", "CXXABI_1.3.15"});
    CHECK(judged({linked("lib/liba.so", user), linked("lib64/libstdc++.so.6", standard),
                  linked("lib/libstdc++.so.6", newer)})
              .empty());
}

TEST_CASE("faults come before what is worth knowing", "[libraries]") {
    const auto found =
        judged({file("lib/liba.so", {part({"gfx90a"}), part({"gfx942"})}), file("lib/libb.so", {part({"gfx942"})})});
    REQUIRE(found.size() == 2);
    CHECK_THAT(found[0], Catch::StartsWith("fault: lib/libb.so"));
}

TEST_CASE("the libraries of a variant are read", "[libraries]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    const auto both = clang.object("first", {"gfx90a", "gfx942"});
    const auto one = clang.object("second", {"gfx942"}, {"--offload-compress"});
    REQUIRE_FALSE(clang.library("lib/libfirst.so.1.2", {both}, {"-Wl,-soname,libfirst.so.1"}).empty());
    REQUIRE_FALSE(clang.library("lib64/plugins/libsecond.so", {one}).empty());
    REQUIRE_FALSE(clang.library("bin/tool", {clang.object("third", {"gfx1100"})}).empty());
    const std::string root = clang.files().path();
    const auto object = clang.device_code("fourth", {"gfx942"}, {"--no-gpu-bundle-output"});
    std::filesystem::create_directories(root + "/lib/rocblas/library");
    std::filesystem::rename(object, root + "/lib/rocblas/library/Kernels-gfx942.hsaco");
    // names that lead to the same file, a loop, a link to nowhere, and what is no library
    std::filesystem::create_symlink("libfirst.so.1.2", root + "/lib/libfirst.so.1");
    std::filesystem::create_symlink("..", root + "/lib/loop");
    std::filesystem::create_symlink("/nowhere", root + "/lib/libgone.so");
    static_cast<void>(clang.files().write("lib/libscript.so", "INPUT(-lfirst)"));
    static_cast<void>(clang.files().write("bin/script", "#!/bin/sh\n"));
    static_cast<void>(clang.files().write("lib/notes.txt", "CCOB"));

    const auto report = check_libraries(root, "", {mi250x}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(report);
    strings names;
    for (const library_file& file : report->files)
        names.push_back(file.name);
    CHECK(names == strings{"bin/tool", "lib/libfirst.so.1", "lib/rocblas/library/Kernels-gfx942.hsaco",
                           "lib64/plugins/libsecond.so"});
    CHECK(texts(report->findings) ==
          strings{"fault: bin/tool has no code for gfx90a:sramecc+:xnack- (it holds gfx1100)",
                  "fault: lib/rocblas/library has no code for gfx90a:sramecc+:xnack- (it holds gfx942)",
                  "fault: lib64/plugins/libsecond.so has no code for gfx90a:sramecc+:xnack- (it holds gfx942)"});
    const auto faults = library_findings(root, {mi300x}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(faults);
    CHECK(*faults == strings{"bin/tool has no code for gfx942:sramecc+:xnack- (it holds gfx1100)"});

    const auto late = check_libraries(root, "", {}, deadline::in(std::chrono::milliseconds(0)));
    REQUIRE_FALSE(late);
    CHECK(late.failure().code == error_code::timed_out);
}

TEST_CASE("a view that is made of links is read where they lead", "[libraries]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects clang;
    REQUIRE_FALSE(clang.library("store/hash/lib/libfirst.so", {clang.object("first", {"gfx942"})}).empty());
    const std::string root = clang.files().path();
    std::filesystem::create_directories(root + "/view/lib");
    std::filesystem::create_symlink("../../store/hash/lib/libfirst.so", root + "/view/lib/libfirst.so");
    std::filesystem::create_directory_symlink("../store/hash/lib", root + "/view/lib64");
    const auto report = check_libraries(root + "/view", "", {mi250x}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(report);
    CHECK(report->looked_at == 1);
    CHECK(report->findings.size() == 1);
}

TEST_CASE("what libraries need is read as the loader reads it", "[libraries][case:VER-1]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects tools;
    const std::string root = tools.files().path();
    const std::string source = "extern \"C\" int hip() { return 6; }\n";
    REQUIRE_FALSE(tools.plain_library("old/libamdhip64.so.6", source, {"-Wl,-soname,libamdhip64.so.6"}).empty());
    REQUIRE_FALSE(tools.plain_library("env/lib/libamdhip64.so.7", source, {"-Wl,-soname,libamdhip64.so.7"}).empty());
    const auto gtl = tools.plain_library("mpi/libmpi_gtl_hsa.so",
                                         "extern \"C\" int hip(); extern \"C\" int gtl() { return hip(); }\n",
                                         {root + "/old/libamdhip64.so.6", "-Wl,-rpath,$ORIGIN/../old:/opt/rocm/lib"});
    REQUIRE_FALSE(gtl.empty());
    const auto report = check_libraries(root + "/env", gtl, {}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(report);
    CHECK(texts(report->findings) ==
          strings{"fault: " + gtl + " needs libamdhip64.so.6, but lib/libamdhip64.so.7 is libamdhip64.so.7",
                  "note: " + gtl + " looks for libraries in /opt/rocm/lib, which belongs to another ROCm"});
    // alone, its own run path leads it to what it needs
    const auto alone = check_libraries(gtl, "", {}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(alone);
    CHECK(alone->findings.size() == 1);
}

TEST_CASE("symbol versions are read as the loader reads them", "[libraries][case:VER-3]") {
    if (!hip_objects::can_be_made())
        return;
    const hip_objects tools;
    const std::string root = tools.files().path();
    const auto version_script = [&](const std::string& name, const std::string& text) {
        return "-Wl,--version-script=" + tools.files().write(name, text);
    };
    const std::string newer = tools.plain_library(
        "newer/libstdc++.so.6", "extern \"C\" int f() { return 1; } extern \"C\" int g() { return 1; }\n",
        {"-nostdlib", "-Wl,-soname,libstdc++.so.6",
         version_script("newer.map", "GLIBCXX_3.4.30 { f; }; GLIBCXX_3.4.32 { g; };")});
    REQUIRE_FALSE(newer.empty());
    REQUIRE_FALSE(tools
                      .plain_library("env/lib/libstdc++.so.6", "extern \"C\" int f() { return 1; }\n",
                                     {"-nostdlib", "-Wl,-soname,libstdc++.so.6",
                                      version_script("older.map", "GLIBCXX_3.4.30 { f; };")})
                      .empty());
    REQUIRE_FALSE(tools
                      .plain_library("env/lib/libuser.so",
                                     "extern \"C\" int f(); extern \"C\" int g(); extern \"C\" int h() { return f() + "
                                     "g(); }\n",
                                     {"-nostdlib", newer})
                      .empty());
    const auto found = library_findings(root + "/env", {}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(found);
    CHECK(*found == strings{"lib/libuser.so needs GLIBCXX_3.4.32, which lib/libstdc++.so.6 does not have (it ends with "
                            "GLIBCXX_3.4.30)"});
    // this program and the library that it was linked with go together
    const auto own = check_libraries("/proc/self/exe", "", {}, deadline::in(std::chrono::seconds(60)));
    REQUIRE(own);
    CHECK(own->findings.empty());
}

TEST_CASE("what is not there, and what is no program, is said", "[libraries]") {
    const temporary_directory directory;
    const auto until = deadline::in(std::chrono::seconds(60));
    CHECK(check_libraries(directory.path() + "/missing", "", {}, until).failure().code == error_code::not_found);
    CHECK(check_libraries(directory.path(), directory.path() + "/missing", {}, until).failure().code ==
          error_code::not_found);
    CHECK(check_libraries(directory.path(), directory.write("script", "#!/bin/sh\n"), {}, until).failure().code ==
          error_code::usage);
    CHECK(check_libraries(directory.path(), "/dev/null", {}, until).failure().code == error_code::usage);
    const auto empty = check_libraries(directory.path(), "", {mi250x}, until);
    REQUIRE(empty);
    CHECK(empty->looked_at == 0);
    CHECK(empty->findings.empty());
}
