// Activation edits: what a variable holds after one, which variables may be touched, and the form that travels.
#include "environment/edits.hpp"

#include <catch2/catch.hpp>

#include <vector>

using namespace amd_gpu;
using kind = edit::kind;

namespace {

std::optional<std::string> twice(const edit& change, const std::optional<std::string>& current) {
    return applied(change, applied(change, current));
}

} // namespace

TEST_CASE("set replaces and unset removes", "[edits]") {
    CHECK(applied({kind::set, "A", "new"}, "old") == "new");
    CHECK(applied({kind::set, "A", ""}, std::nullopt) == "");
    CHECK(applied({kind::unset, "A", ""}, "old") == std::nullopt);
    CHECK(applied({kind::unset, "A", ""}, std::nullopt) == std::nullopt);
}

TEST_CASE("prepending moves to the front and never repeats", "[edits]") {
    const edit change{kind::prepend, "LD_LIBRARY_PATH", "/env/lib"};
    CHECK(applied(change, std::nullopt) == "/env/lib");
    CHECK(applied(change, "/opt/cray/lib") == "/env/lib:/opt/cray/lib");
    CHECK(twice(change, "/opt/cray/lib") == "/env/lib:/opt/cray/lib");
    CHECK(applied(change, "/opt/rocm/lib:/env/lib:/opt/cray/lib") == "/env/lib:/opt/rocm/lib:/opt/cray/lib");
    CHECK(applied({kind::prepend, "A", "/a:/b"}, "/b:/c:/a") == "/a:/b:/c");
}

TEST_CASE("appending keeps the place of what is there", "[edits]") {
    const edit change{kind::append, "CPATH", "/env/include"};
    CHECK(applied(change, std::nullopt) == "/env/include");
    CHECK(applied(change, "/a") == "/a:/env/include");
    CHECK(twice(change, "/a") == "/a:/env/include");
    CHECK(applied(change, "/env/include:/a") == "/env/include:/a");
}

TEST_CASE("no list ends up with an empty element", "[edits]") {
    const edit change{kind::prepend, "LD_LIBRARY_PATH", "/env/lib"};
    for (const std::string current : {"", ":", "::", ":/a", "/a:", "/a::/b", "::/a::"}) {
        const std::optional<std::string> after = applied(change, current);
        REQUIRE(after);
        INFO(current << " -> " << *after);
        CHECK((":" + *after + ":").find("::") == std::string::npos);
    }
    CHECK(applied({kind::prepend, "LD_LIBRARY_PATH", ":/x::/y:"}, "/z") == "/x:/y:/z");
    CHECK(applied({kind::append, "LD_LIBRARY_PATH", ""}, "/z") == "/z");
    CHECK(applied({kind::prepend, "PATH", "/env/bin"}, "/bin:.:") == "/env/bin:/bin:.");
}

TEST_CASE("PATH that is not set keeps the system's default", "[edits][case:SPK-8]") {
    CHECK(applied({kind::prepend, "PATH", "/env/bin"}, std::nullopt) == "/env/bin:/usr/local/bin:/usr/bin:/bin");
    CHECK(applied({kind::prepend, "PATH", "/env/bin"}, "") == "/env/bin:/usr/local/bin:/usr/bin:/bin");
    CHECK(applied({kind::append, "PATH", "/env/bin"}, std::nullopt) == "/usr/local/bin:/usr/bin:/bin:/env/bin");
    CHECK(applied({kind::prepend, "PATH", "/env/bin"}, "/sbin") == "/env/bin:/sbin");
    CHECK(applied({kind::prepend, "PATH", "/usr/bin"}, std::nullopt) == "/usr/bin:/usr/local/bin:/bin");
}

TEST_CASE("MANPATH keeps exactly one element for the system's own list", "[edits]") {
    const edit change{kind::prepend, "MANPATH", "/env/man"};
    CHECK(applied(change, std::nullopt) == "/env/man:");
    CHECK(applied(change, "") == "/env/man:");
    CHECK(twice(change, std::nullopt) == "/env/man:");
    CHECK(applied(change, "/a:") == "/env/man:/a:");
    CHECK(applied(change, ":/a") == "/env/man::/a");
    CHECK(twice(change, ":/a:") == "/env/man::/a");
    CHECK(applied(change, "/a:/b") == "/env/man:/a:/b");
    CHECK(applied({kind::append, "MANPATH", "/env/man"}, std::nullopt) == ":/env/man");
    CHECK(applied({kind::prepend, "INFOPATH", "/env/info"}, std::nullopt) == "/env/info:");
}

TEST_CASE("a variable that exec would drop is left as it is", "[edits]") {
    const std::string name = "BIG";
    const std::string largest(longest_variable - name.size() - 2, 'x');
    CHECK(applied({kind::set, name, largest}, "old") == largest);
    CHECK_FALSE(too_long({kind::set, name, largest}, "old"));
    CHECK(applied({kind::set, name, largest + "x"}, "old") == "old");
    CHECK(too_long({kind::set, name, largest + "x"}, "old"));
    CHECK(applied({kind::prepend, name, "/a"}, largest) == largest);
    CHECK(too_long({kind::prepend, name, "/a"}, largest));
    CHECK_FALSE(too_long({kind::unset, name, ""}, largest));
}

TEST_CASE("a list of very many elements is merged in no time", "[edits]") {
    std::string many;
    for (int i = 0; many.size() < longest_variable - 100; ++i)
        many += std::to_string(i) + ":";
    many.pop_back();
    CHECK(twice({kind::prepend, "PATH", "/env"}, many) == "/env:" + many);
}

TEST_CASE("a whole list of edits applied twice changes nothing more", "[edits][case:SPK-10]") {
    const std::vector<edit> edits{{kind::unset, "A", ""},         {kind::set, "A", "/s"},
                                  {kind::prepend, "A", "/p:/q"},  {kind::prepend, "A", "/r:/p"},
                                  {kind::append, "A", "/z:/p"},   {kind::append, "A", "/s"},
                                  {kind::prepend, "A", "/end:/q"}};
    std::optional<std::string> value = "/u:/v";
    for (const edit& change : edits)
        value = applied(change, value);
    const std::optional<std::string> once = value;
    for (const edit& change : edits)
        value = applied(change, value);
    CHECK(value == once);
    CHECK(once == "/end:/q:/r:/p:/s:/z");
}

TEST_CASE("variables that are not an environment's business are refused", "[edits]") {
    for (const char* name : {"ROCR_VISIBLE_DEVICES",
                             "HIP_VISIBLE_DEVICES",
                             "CUDA_VISIBLE_DEVICES",
                             "GPU_DEVICE_ORDINAL",
                             "HSA_OVERRIDE_GFX_VERSION",
                             "HSA_OVERRIDE_GFX_VERSION_0",
                             "LD_PRELOAD",
                             "LD_AUDIT",
                             "LD_DEBUG",
                             "SLURM_JOB_ID",
                             "SLURM_AMD_GPU",
                             "SPANK_X",
                             "PMI_RANK",
                             "PMIX_RANK",
                             "PMI2_X",
                             "HOME",
                             "USER",
                             "LOGNAME",
                             "SHELL",
                             "LANG",
                             "LC_ALL",
                             "IFS",
                             "BASH_ENV",
                             "ENV",
                             "GLIBC_TUNABLES",
                             "RSMI_DEBUG_BITFIELD"}) {
        INFO(name);
        CHECK_FALSE(may_edit(name));
    }
    for (const char* name : {"", "1A", "A B", "A=B", "A-B", "BASH_FUNC_x%%", "\xc3\xa9"}) {
        INFO(name);
        CHECK_FALSE(may_edit(name));
    }
    CHECK_FALSE(may_edit(std::string_view("A\0B", 3)));
    for (const char* name : {"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "MANPATH", "ROCM_PATH", "HSA_XNACK",
                             "HSA_ENABLE_SDMA", "AMDGPU_TARGETS", "LANGUAGE_SERVER", "HOMEBREW", "_", "a1"}) {
        INFO(name);
        CHECK(may_edit(name));
    }
}

TEST_CASE("the text form of an edit reads back as the same edit", "[edits]") {
    for (const edit& change : {edit{kind::set, "A", ""}, edit{kind::set, "A", "x=y z\n"}, edit{kind::unset, "B_1", ""},
                               edit{kind::prepend, "PATH", "/opt/env/bin:/x"}, edit{kind::append, "C", ":"}}) {
        INFO(change.text());
        const result<edit> back = edit::parse(change.text());
        REQUIRE(back);
        CHECK(*back == change);
    }
    CHECK(edit{kind::prepend, "PATH", "/opt/env/bin"}.text() == "prepend PATH=/opt/env/bin");
    CHECK(edit{kind::unset, "PATH", ""}.text() == "unset PATH");
}

TEST_CASE("text that is no edit is refused", "[edits]") {
    for (const char* text : {"", " ", "set", "set ", "set A", "unset A=1", "unset ", "put A=1", "set =1", "set A B=1",
                             " set A=1", "set  A=1", "SET A=1", "prepend 1A=x"}) {
        INFO(text);
        const result<edit> read = edit::parse(text);
        REQUIRE_FALSE(read);
        CHECK(read.failure().code == error_code::usage);
    }
    CHECK_FALSE(edit::parse(std::string_view("set A=x\0y", 9)));
    const result<edit> huge = edit::parse(std::string(100000, 'x'));
    REQUIRE_FALSE(huge);
    CHECK(huge.failure().what.size() < 200);
}
