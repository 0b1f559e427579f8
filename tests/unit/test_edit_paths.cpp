// Directories that edits name.
#include "environment/catalogue.hpp"
#include "environment/edit_paths.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;

TEST_CASE("a directory with a C library stays out of LD_LIBRARY_PATH", "[edit_paths][case:VER-2]") {
    const temporary_directory at;
    at.write("a/libc.so.6", "");
    at.write("b/ld-linux-x86-64.so.2", "");
    at.write("c/libfoo.so", "");
    const auto in = [&](const char* name) { return at.path() + name; };
    std::vector<edit> edits = {{edit::kind::prepend, "LD_LIBRARY_PATH", in("/a") + ":" + in("/c") + ":" + in("/b")},
                               {edit::kind::append, "LD_LIBRARY_PATH", in("/b")},
                               {edit::kind::prepend, "LIBRARY_PATH", in("/a")},
                               {edit::kind::unset, "LD_LIBRARY_PATH", ""}};
    drop_c_library_directories(edits);
    CHECK(edits == std::vector<edit>{{edit::kind::prepend, "LD_LIBRARY_PATH", in("/c")},
                                     {edit::kind::prepend, "LIBRARY_PATH", in("/a")},
                                     {edit::kind::unset, "LD_LIBRARY_PATH", ""}});
}

TEST_CASE("an activation never puts a C library into LD_LIBRARY_PATH", "[edit_paths][case:VER-2]") {
    const temporary_directory at;
    at.write("lib/libc.so.6", "");
    at.write("lib/librocm_smi64.so", "");
    at.write("lib64/libfoo.so", "");
    variant chosen;
    chosen.path = at.path();
    const auto edits = activation_edits(chosen, environment{});
    REQUIRE(edits);
    for (const edit& change : *edits) {
        if (change.name == "LD_LIBRARY_PATH")
            CHECK(change.value == at.path() + "/lib64");
        if (change.name == "ROCM_SMI_LIB_PATH")
            CHECK(change == edit{edit::kind::set, "ROCM_SMI_LIB_PATH", at.path() + "/lib/librocm_smi64.so"});
    }
    CHECK(std::any_of(edits->begin(), edits->end(),
                      [](const edit& change) { return change.name == "ROCM_SMI_LIB_PATH"; }));
}

TEST_CASE("paths of software that is seen elsewhere are written as they are seen", "[edit_paths]") {
    std::vector<edit> edits = {{edit::kind::prepend, "PATH", "/m/ab/bin:/m/abc/bin:/x/m/ab:/m/ab"},
                               {edit::kind::set, "FLAGS", "--prefix=/m/ab/lib"},
                               {edit::kind::set, "OTHER", "/n"}};
    move_paths(edits, "/m/ab", "/opt/m/ab");
    CHECK(edits == std::vector<edit>{{edit::kind::prepend, "PATH", "/opt/m/ab/bin:/m/abc/bin:/x/m/ab:/opt/m/ab"},
                                     {edit::kind::set, "FLAGS", "--prefix=/opt/m/ab/lib"},
                                     {edit::kind::set, "OTHER", "/n"}});
}
