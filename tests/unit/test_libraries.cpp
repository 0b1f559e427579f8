// LD_LIBRARY_PATH beside an environment, and what the loader would load for a program.
#include "spank/library_path.hpp"
#include "spank/loader_list.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>
#include <set>

using namespace amd_gpu;

namespace {

std::string rearranged(const std::string& list, const std::set<std::string>& own,
                       const std::set<std::string>& foreign) {
    std::string places;
    for (const auto& one : elements_of(list))
        places += own.contains(one) ? 'o' : foreign.contains(one) ? 'f' : '-';
    return with_foreign_last(elements_of(list), places);
}

std::string as_it_is(const std::string& path) {
    return path;
}

const own_libraries of_environment{"/opt/envs/x",
                                   "",
                                   {{"/opt/envs/x/lib/libamdhip64.so.6", "/opt/envs/x/lib/libamdhip64.so.6.2.4"},
                                    {"/opt/envs/x/lib/libstdc++.so.6", "/opt/envs/x/lib/libstdc++.so.6.0.33"}}};

std::vector<loader_finding> judged(const std::string& program, const std::vector<listed_library>& listed) {
    return judge_loaded(program, listed, of_environment, as_it_is);
}

using weight = loader_finding::weight;

} // namespace

TEST_CASE("another ROCm in LD_LIBRARY_PATH goes behind the environment's own", "[libraries][case:VER-2]") {
    CHECK(rearranged("/opt/rocm-5.7.1/lib:/opt/cray/lib:/env/lib", {"/env/lib"}, {"/opt/rocm-5.7.1/lib"}) ==
          "/opt/cray/lib:/env/lib:/opt/rocm-5.7.1/lib");
    CHECK(rearranged("/env/lib:/opt/rocm-5.7.1/lib:/opt/cray/lib", {"/env/lib"}, {"/opt/rocm-5.7.1/lib"}) ==
          "/env/lib:/opt/rocm-5.7.1/lib:/opt/cray/lib");
    CHECK(rearranged("/r1:/env/lib:/r2:/a:/env/lib64:/r3:/b", {"/env/lib", "/env/lib64"}, {"/r1", "/r2", "/r3"}) ==
          "/env/lib:/a:/env/lib64:/r1:/r2:/r3:/b");
}

TEST_CASE("another ROCm goes altogether where the environment is found by run paths", "[libraries][case:VER-2]") {
    CHECK(rearranged("/opt/rocm-5.7.1/lib:/opt/cray/lib:", {}, {"/opt/rocm-5.7.1/lib"}) == "/opt/cray/lib");
    CHECK(rearranged("/opt/rocm-5.7.1/lib", {}, {"/opt/rocm-5.7.1/lib"}).empty());
    CHECK(rearranged("/a:/b", {}, {}) == "/a:/b");
}

TEST_CASE("directories are the environment's, another ROCm's, or neither", "[libraries][case:VER-2]") {
    const temporary_directory at;
    at.write("env/lib/libamdhip64.so.6", "");
    at.write("rocm/lib/libamdhip64.so.5.7.1", "");
    at.write("hsa/libhsa-runtime64.so.1", "");
    at.write("smi/librocm_smi64.so.7", "");
    at.write("comgr/libamd_comgr.so.2", "");
    at.write("cray/libsci.so", "");
    std::filesystem::create_symlink(at.path() + "/env", at.path() + "/link");
    const auto in = [&](const char* name) { return at.path() + name; };
    const auto places = look_at_libraries({in("/rocm/lib"), in("/env/lib"), in("/cray"), in("/nowhere"),
                                           in("/link/lib"), in("/hsa"), in("/smi"), in("/comgr")},
                                          in("/link"));
    CHECK(places == "fo--offf");
    CHECK(lies_below("/a/b", "/a"));
    CHECK(lies_below("/a", "/a/"));
    CHECK_FALSE(lies_below("/ab", "/a"));
}

TEST_CASE("an environment that was left is taken out of a list", "[libraries][case:SPK-10]") {
    CHECK(without_below("/env/a/bin:/usr/bin::/env/a:/env/ab/bin", "/env/a") == "/usr/bin:/env/ab/bin");
    CHECK(without_below("", "/env/a").empty());
}

TEST_CASE("what cannot be looked at stays where it is", "[libraries]") {
    CHECK(with_foreign_last({"/a", "/b"}, "") == "/a:/b");
}

TEST_CASE("the loader's list is read", "[libraries]") {
    const auto listed =
        parse_loader_list("\tlinux-vdso.so.1 (0x00007ff230323000)\n"
                          "\t/opt/preloaded/libamdhip64.so.5 (0x00007ff2302f0000)\n"
                          "\tlibhsa-runtime64.so.1 => /opt/a b/libhsa-runtime64.so.1 (0x00007ff230000000)\n"
                          "\tlibamdhip64.so.6 => not found\n"
                          "./app: /lib/libc.so.6: version `GLIBC_2.99' not found (required by ./app)\n");
    CHECK(listed == std::vector<listed_library>{{"libamdhip64.so.5", "/opt/preloaded/libamdhip64.so.5"},
                                                {"libhsa-runtime64.so.1", "/opt/a b/libhsa-runtime64.so.1"},
                                                {"libamdhip64.so.6", ""}});
    CHECK(parse_loader_list("").empty());
    CHECK(parse_loader_list("\t => (0x\n\n\t\n\t(0x").size() == 1);
}

TEST_CASE("the loader's own account says who asked first and where it looked", "[libraries][case:VER-3]") {
    const std::string text = "     19929:\tfile=libfoo.so [0];  needed by ./app [0]\n"
                             "     19929:\tfind library=libfoo.so [0]; searching\n"
                             "     19929:\t search path=/home/u/lib\t\t(RUNPATH from file ./app)\n"
                             "     19929:\t  trying file=/home/u/lib/libfoo.so\n"
                             "     19929:\tfile=libstdc++.so.6 [0];  needed by /home/u/lib/libfoo.so [0]\n"
                             "     19929:\tfind library=libstdc++.so.6 [0]; searching\n"
                             "     19929:\t search path=/env/lib\t\t(LD_LIBRARY_PATH)\n"
                             "     19929:\t  trying file=/env/lib/libstdc++.so.6\n"
                             "     19929:\t search cache=/etc/ld.so.cache\n"
                             "     19929:\t  trying file=/lib/x86_64-linux-gnu/libstdc++.so.6\n"
                             "     19929:\tfile=libstdc++.so.6 [0];  needed by ./app [0]\n"
                             "     19929:\tfind library=libamdhip64.so.6 [0]; searching\n"
                             "     19929:\t search path=/opt/rocm/lib\t\t(RPATH from file /home/u/lib/libfoo.so)\n";
    const auto standard = parse_loader_reason(text, "libstdc++.so.6");
    CHECK(standard.requester == "/home/u/lib/libfoo.so");
    CHECK(standard.how == "ld.so.cache");
    CHECK(standard.whose.empty());
    const auto runtime = parse_loader_reason(text, "libamdhip64.so.6");
    CHECK(runtime.how == "RPATH");
    CHECK(runtime.whose == "/home/u/lib/libfoo.so");
    CHECK(parse_loader_reason(text, "libhsa-runtime64.so.1").how.empty());
    CHECK(parse_loader_reason("", "x").requester.empty());
}

TEST_CASE("a program that would get another runtime than the environment's is a fault", "[libraries][case:VER-2]") {
    const auto findings = judged("/home/u/app", {{"libamdhip64.so.6", "/opt/rocm-5.7.1/lib/libamdhip64.so.6"}});
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].how == weight::fault);
    const auto line = text_of(findings[0], "./app", {"/home/u/lib/libfoo.so", "RPATH", "./app"});
    for (const char* part : {"./app", "libamdhip64.so.6", "/opt/rocm-5.7.1/lib", "RPATH of ./app",
                             "/opt/envs/x/lib/libamdhip64.so.6", "first asked for by /home/u/lib/libfoo.so"}) {
        CAPTURE(part, line);
        CHECK(line.find(part) != std::string::npos);
    }
    CHECK(judged("/home/u/app", {{"libamdhip64.so.6", "/opt/envs/x/lib/libamdhip64.so.6.2.4"}}).empty());
    // what the environment does not have is nobody's business here
    CHECK(judged("/home/u/app", {{"libhsa-runtime64.so.1", "/opt/rocm-5.7.1/lib/libhsa-runtime64.so.1"},
                                 {"libm.so.6", "/lib/libm.so.6"}})
              .empty());
}

TEST_CASE("a program that was built for another version of the runtime is told both", "[libraries][case:VER-1]") {
    for (const char* path : {"", "/opt/rocm-7/lib/libamdhip64.so.7"}) {
        const auto findings = judged("/home/u/app", {{"libamdhip64.so.7", path}});
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].how == weight::fault);
        const auto line = text_of(findings[0], "./app", {"/opt/mpi/libmpi_gtl_hsa.so", "", ""});
        CHECK(line.find("libamdhip64.so.7") != std::string::npos);
        CHECK(line.find("libamdhip64.so.6") != std::string::npos);
        CHECK(line.find("libmpi_gtl_hsa") != std::string::npos);
    }
}

TEST_CASE("another libstdc++ is a warning that names who asks for it first", "[libraries][case:VER-3]") {
    const auto findings = judged("/home/u/app", {{"libstdc++.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6"}});
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].how == weight::warning);
    CHECK(text_of(findings[0], "./app", {"./app", "ld.so.cache", ""}).find("-rpath") != std::string::npos);
}

TEST_CASE("a program that brings its own runtime is left alone", "[libraries]") {
    for (const char* program : {"/home/u/app/bin/prog", "/home/u/app/prog"}) {
        const auto findings = judged(program, {{"libamdhip64.so.6", "/home/u/app/lib/libamdhip64.so.6"}});
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].how == weight::remark);
    }
    // but what lies in the system's directories is no bundle
    for (const char* program : {"/usr/bin/prog", "/usr/local/bin/prog"}) {
        const auto findings = judged(program, {{"libamdhip64.so.6", "/usr/local/lib/libamdhip64.so.6"}});
        REQUIRE(findings.size() == 1);
        CHECK(findings[0].how == weight::fault);
    }
}

TEST_CASE("software of a store comes from all over the store", "[libraries]") {
    own_libraries own{"/gnu/store/a-profile", "/gnu/store", {{"/gnu/store/a-profile/lib/libamdhip64.so.7", "/x"}}};
    CHECK(judge_loaded("/gnu/store/b-app/bin/app", {{"libamdhip64.so.7", "/gnu/store/c-hip/lib/libamdhip64.so.7"}}, own,
                       as_it_is)
              .empty());
    CHECK(judge_loaded("/home/u/app", {{"libamdhip64.so.7", "/opt/rocm/lib/libamdhip64.so.7"}}, own, as_it_is).size() ==
          1);
}
