// What Guix reads and says. The texts are those of guix 1.5.0, and of a later one that knows --amd-gpu.
#include "environment/guix_text.hpp"

#include "environment/scheme.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using kind = edit::kind;
using need = realise_plan::need;

namespace {

const std::string commit = "0123456789abcdef0123456789abcdef01234567";

std::string channel(const std::string& name, const std::string& pin) {
    return "(channel (name '" + name + ") (url \"https://git.example.org/" + name + "\")" +
           (pin.empty() ? "" : " (commit \"" + pin + "\")") + ")";
}

} // namespace

TEST_CASE("the file for Guix applies the transformation itself", "[guix]") {
    guix_source from;
    from.manifest = "/site/a \"b\\c.scm";
    const std::string text = guix_wrapper(from, {"gfx90a", "gfx942"});
    CHECK_THAT(text, Contains("(options->transformation '((amd-gpu . (\"gfx90a\" \"gfx942\"))))"));
    CHECK_THAT(text, Contains("(load* \"/site/a \\\"b\\\\c.scm\" (make-user-module"));
    CHECK_THAT(text, Contains("not a package"));
    REQUIRE(read_scheme(text));

    from = {};
    from.packages = {"rocm-toolchain@7", "rochpl:debug"};
    from.tune = "znver3";
    const std::string named = guix_wrapper(from, {"gfx90a"});
    CHECK_THAT(named, Contains("(specifications->manifest (list \"rocm-toolchain@7\" \"rochpl:debug\"))"));
    CHECK_THAT(named, Contains("(amd-gpu . (\"gfx90a\")) (tune . \"znver3\")"));
    REQUIRE(read_scheme(named));
}

TEST_CASE("without targets the packages stay as their compiler's default builds them", "[guix]") {
    guix_source from;
    from.packages = {"rochpl"};
    const std::string text = guix_wrapper(from, {});
    CHECK_THAT(text, Contains("(options->transformation '())"));
    CHECK_THAT(text, !Contains("amd-gpu"));
    CHECK_THAT(text, !Contains("not a package"));
    REQUIRE(read_scheme(text));
}

TEST_CASE("channels pin Guix only when each names a full commit", "[guix]") {
    CHECK(channels_mistake("(list " + channel("guix", commit) + channel("rocm", commit) + ")").empty());
    CHECK(channel_commits("(list " + channel("guix", commit) + ")").at("guix") == commit);
    for (const std::string& pin : {std::string(), std::string("0123456"), std::string("master"), commit + "0",
                                   std::string(40, 'G'), std::string(40, 'A')}) {
        INFO(pin);
        CHECK_THAT(channels_mistake("(list " + channel("guix", commit) + channel("rocm", pin) + ")"),
                   Contains("channel rocm"));
    }
    CHECK_FALSE(channels_mistake("%default-channels").empty());
    CHECK_FALSE(channels_mistake("").empty());
    CHECK_FALSE(channels_mistake("(list").empty());
    // The introduction's commit is none of the channel's own.
    CHECK_THAT(channels_mistake("(channel (name 'guix) (introduction (make-channel-introduction \"" + commit + "\")))"),
               Contains("channel guix"));
}

TEST_CASE("a dry run is told apart by what it prints, since its status is always 0", "[guix]") {
    SECTION("all there") {
        const realise_plan plan = parse_guix_plan("/gnu/store/aaa-profile\n", "");
        CHECK(plan.what == need::ready);
        CHECK(plan.lines.empty());
    }
    SECTION("only the profile is to be put together") {
        const realise_plan plan = parse_guix_plan("", "The following derivation would be built:\n"
                                                      "  /gnu/store/aaa-profile.drv\n\n"
                                                      "The following profile hooks would be built:\n"
                                                      "  /gnu/store/bbb-ca-certificate-bundle.drv\n"
                                                      "  /gnu/store/ccc-info-dir.drv\n");
        CHECK(plan.what == need::ready);
        CHECK(plan.builds == 0);
        CHECK(plan.lines.size() == 1);
    }
    SECTION("grafts are quick as well") {
        const realise_plan plan =
            parse_guix_plan("", "The following grafts would be made:\n  /gnu/store/aaa-rocblas-7.1.1.drv\n");
        CHECK(plan.what == need::ready);
    }
    SECTION("downloads, with their names") {
        const realise_plan plan = parse_guix_plan("", "The following derivation would be built:\n"
                                                      "  /gnu/store/aaa-profile.drv\n\n"
                                                      "1,024.5 MB would be downloaded:\n");
        CHECK(plan.what == need::fetch);
        const realise_plan named = parse_guix_plan("", "112.3 MB would be downloaded:\n"
                                                       "  /gnu/store/aaa-rocblas-7.1.1\n"
                                                       "  /gnu/store/bbb-hipblas-7.1.1\n");
        CHECK(named.what == need::fetch);
        CHECK(named.fetches == 2);
        CHECK(named.fetch_bytes == 112300000U);
        CHECK(named.lines.front() == "download /gnu/store/aaa-rocblas-7.1.1");
    }
    SECTION("downloads of which nothing but the size is told") {
        const realise_plan plan = parse_guix_plan("", "0.1 MB would be downloaded\n");
        CHECK(plan.what == need::fetch);
        CHECK(plan.fetches == 0);
        CHECK(plan.fetch_bytes == 100000U);
    }
    SECTION("no size is told") {
        const realise_plan plan =
            parse_guix_plan("", "The following files would be downloaded:\n  /gnu/store/aaa-rocblas-7.1.1\n");
        CHECK(plan.what == need::fetch);
        CHECK(plan.fetches == 1);
        CHECK_FALSE(plan.fetch_bytes);
    }
    SECTION("packages are to be built") {
        const realise_plan plan = parse_guix_plan("", "guix build: compiling rocblas@7.1.1 for AMD GPU gfx90a\n"
                                                      "The following derivations would be built:\n"
                                                      "  /gnu/store/aaa-profile.drv\n"
                                                      "  /gnu/store/bbb-rocblas-7.1.1.drv\n"
                                                      "  /gnu/store/ccc-hipblaslt-7.1.1.drv\n\n"
                                                      "3.0 GB would be downloaded:\n"
                                                      "  /gnu/store/ddd-llvm-19\n");
        CHECK(plan.what == need::build);
        CHECK(plan.builds == 2);
        CHECK(plan.fetches == 1);
        CHECK(plan.fetch_bytes == 3000000000U);
    }
}

TEST_CASE("the targets that packages are compiled for are read from what Guix prints", "[guix]") {
    using list = std::vector<std::string>;
    CHECK_FALSE(compiled_for(""));
    CHECK_FALSE(compiled_for("guix build: warning: something for AMD GPU gfx90a\n"));
    CHECK(compiled_for("guix build: compiling fake-rocblas@7.1.1 for AMD GPU gfx90a\n") == list{"gfx90a"});
    CHECK(compiled_for("guix build: compiling rocblas@7.1.1 for these AMD GPUs: gfx942 gfx90a\n"
                       "guix build: compiling rochpl@7.1.1 for these AMD GPUs: gfx942 gfx90a\n") ==
          list{"gfx90a", "gfx942"});
}

TEST_CASE("every known failure of Guix is told in words, with its own line", "[guix][case:SCALE-7]") {
    struct row {
        const char* text;
        error_code code;
        const char* meaning;
    };
    const row rows[] = {
        {"guix build: error: failed to connect to `/var/guix/daemon-socket/socket': No such file or directory",
         error_code::peer, "daemon"},
        {"guix build: error: failed to connect to `127.0.0.1': Connection refused", error_code::peer, "daemon"},
        {"guix build: error: amd-gpu=gfx90a: unrecognized option", error_code::unsupported, "newer one is needed"},
        {"guix build: error: compiler rocm-toolchain@7.1.1 does not support AMD GPU target native\nhint: ...",
         error_code::usage, "does not know the target"},
        {"x.scm:3:2: error: rochpl@7: no ROCm compiler was found among the inputs", error_code::usage, "no ROCm"},
        {"guix build: error: roclbas: unknown package", error_code::usage, "does not exist"},
        {"guix build: error: failed to load '/site/manifest.scm':\nThrow to key `quit' with args `(1)'.",
         error_code::usage, "cannot be loaded"},
        {"/site/manifest.scm:2:1: missing closing parenthesis", error_code::usage, "not complete"},
        {"ice-9/eval.scm:142:16: Unbound variable: specifications->manifest\n"
         "guix build: error: specifications->manifest: unbound variable",
         error_code::usage, "not defined"},
        {"guix substitute: warning: ci.guix.gnu.org: host not found: Name or service not known\n"
         "building /gnu/store/aaa.drv...\nfailed to download \"/gnu/store/x\" from \"https://x\"",
         error_code::peer, "substitute server cannot be found"},
        {"In procedure getaddrinfo: Name or service not known", error_code::peer, "no network"},
        {"Git error: failed to resolve address for git.guix.gnu.org: Name or service not known", error_code::peer,
         "no network"},
        {"guix build: error: some substitutes for the outputs of derivation `/gnu/store/a.drv' failed (usually happens "
         "due to networking issues); try `--fallback' to build derivation from source ",
         error_code::peer, "try again"},
        {"guix substitute: error: sha256 hash mismatch for /gnu/store/aaa:", error_code::peer, "other bytes"},
        {"builder for `/gnu/store/a.drv' failed with exit code 3\nguix build: error: build of `/gnu/store/a.drv' "
         "failed",
         error_code::internal, "did not build"},
        {"guix build: error: build of `/gnu/store/a.drv' failed", error_code::internal, "did not build"},
        {"building of `/gnu/store/a.drv' timed out after %2% seconds\nguix build: error: build of `/gnu/store/a.drv' "
         "failed",
         error_code::timed_out, "too long"},
        {"building of `/gnu/store/a.drv' timed out after 2 seconds of silence", error_code::timed_out, "nothing"},
        {"guix build: error: writing to file: No space left on device", error_code::internal, "full"},
        {"guix time-machine: error: utime: Read-only file system", error_code::internal, "head node"},
    };
    for (const row& one : rows) {
        INFO(one.text);
        const error told = guix_failure(one.text);
        CHECK(told.code == one.code);
        CHECK_THAT(told.what, Contains(one.meaning));
        CHECK_THAT(told.what, Contains("Guix says: "));
        CHECK(told.what.find('\n') == std::string::npos);
    }
}

TEST_CASE("a failure that nobody knows is told as Guix tells it", "[guix]") {
    CHECK_THAT(guix_failure("noise\nguix build: error: something new\nmore\n").what, Contains("something new"));
    CHECK_FALSE(guix_failure("").what.empty());
    CHECK_THAT(guix_failure("Backtrace:\n  1 (f)\nlast words\n").what, Contains("last words"));
    CHECK(guix_failure(std::string(100000, 'x')).what.size() < 1000);
}

TEST_CASE("a profile's manifest gives the variables", "[guix]") {
    const auto read = parse_guix_profile(R"(;; This file was automatically generated and is for internal use only.
(manifest
 (version 4)
 (packages
  (("rocm-toolchain" "7.1.1" "out" "/gnu/store/aaa-rocm-toolchain-7.1.1"
    (propagated-inputs (("llvm" "19" "out" "/gnu/store/bbb-llvm-19"
      (search-paths (("CPATH" ("include" "include/c++") ":" directory #f))))))
    (search-paths
     (("ROCM_PATH" (".") #f directory #f)
      ("LIBRARY_PATH" ("lib") ":" directory #f)
      ("XML_CATALOG_FILES" ("xml") " " regular "^catalog\\.xml$")
      ("SEVERAL" ("share/x") ":" regular "^x$")
      ("ROCM_SMI_LIB_PATH" ("lib/librocm_smi64.so") #f regular #f)
      ("LD_PRELOAD" ("lib/x.so") ":" regular #f)
      ("ROCR_VISIBLE_DEVICES" ("x") #f directory #f)
      ("ESCAPES" ("../../../etc") ":" directory #f)))
    (properties ((transformations (amd-gpu "gfx942" "gfx90a"))))))))
)");
    if (!read)
        FAIL(read.failure().what);
    CHECK(read->amd_gpu == std::vector<std::string>{"gfx90a", "gfx942"});
    CHECK(read->packages == std::vector<std::string>{"rocm-toolchain@7.1.1"});
    CHECK(read->edits == std::vector<edit>{{kind::prepend, "CPATH", "${prefix}/include:${prefix}/include/c++"},
                                           {kind::set, "GUIX_ENVIRONMENT", "${prefix}"},
                                           {kind::prepend, "LIBRARY_PATH", "${prefix}/lib"},
                                           {kind::prepend, "PATH", "${prefix}/bin"},
                                           {kind::set, "ROCM_PATH", "${prefix}"},
                                           {kind::set, "ROCM_SMI_LIB_PATH", "${prefix}/lib/librocm_smi64.so"}});
}

TEST_CASE("what is no profile's manifest is refused", "[guix]") {
    for (const std::string text :
         {"", "()", "(manifest)", "(manifest (version))", "(manifest (version 5))", "(x (version 4))",
          "(manifest (version 4)", "\"text\"", "(manifest (version 4)) (more)"}) {
        INFO(text);
        CHECK_FALSE(parse_guix_profile(text));
    }
    const auto empty = parse_guix_profile("(manifest (version 4) (packages ()))");
    REQUIRE(empty);
    CHECK(empty->packages.empty());
    CHECK(empty->amd_gpu.empty());
}
