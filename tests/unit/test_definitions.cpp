// Definitions of environments: what they may hold, and every mistake named with its line.
#include "environment/catalogue.hpp"

#include "good_target.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using kind = edit::kind;

namespace {

/// What is wrong with a definition; its file's name is left out.
std::string mistakes(const std::string& content, const std::string& name = "demo.toml") {
    const temporary_directory directory;
    const std::string file = directory.write(name, content);
    const result<environment> read = load_environment(file);
    if (read)
        return "no mistake";
    CHECK(read.failure().code == error_code::configuration);
    std::string what = read.failure().what;
    for (std::size_t at = what.find(file); at != std::string::npos; at = what.find(file))
        what.erase(at, file.size());
    return what;
}

const std::string good_path = "path = \"/opt/envs/demo/{target}\"\n";

} // namespace

TEST_CASE("a definition is read", "[catalogue]") {
    const temporary_directory directory;
    const result<environment> read = load_environment(directory.write("my-env_1.0+x.toml", R"(
description = "what it is"
provider = "prefix"
path = "/opt/{target}/demo"
targets = ["gfx942:xnack-", "gfx90a"]
[edits]
set = { A = "x y", ROCM_PATH = "${prefix}" }
unset = ["B"]
prepend = { PATH = "/front:${prefix}/front" }
append = { CPATH = ["/back", "/end"] }
)"));
    REQUIRE(read);
    CHECK(read->name == "my-env_1.0+x");
    CHECK(read->description == "what it is");
    CHECK(read->path == "/opt/{target}/demo");
    CHECK(read->targets == std::vector<target_id>{target("gfx90a"), target("gfx942:xnack-")});
    CHECK(read->edits == std::vector<edit>{{kind::unset, "B", ""},
                                           {kind::set, "A", "x y"},
                                           {kind::set, "ROCM_PATH", "${prefix}"},
                                           {kind::append, "CPATH", "/back:/end"},
                                           {kind::prepend, "PATH", "/front:${prefix}/front"}});
}

TEST_CASE("mistakes in a definition are named with their line", "[catalogue]") {
    CHECK(mistakes(good_path) == "no mistake");
    CHECK_THAT(mistakes(""), StartsWith(": path is missing"));
    CHECK(mistakes("path = \"opt/{target}\"") == ":1: path must be absolute");
    CHECK_THAT(mistakes("path = \"/opt/demo\""), StartsWith(":1: path must hold {target}"));
    CHECK_THAT(mistakes("path = \"/opt/{target}/{target}\""), Contains("only once"));
    CHECK_THAT(mistakes("path = \"/opt/my stack/{target}\""), Contains("white space"));
    CHECK_THAT(mistakes("path = \"/opt/a:b/{target}\""), Contains("':'"));
    CHECK_THAT(mistakes("path = \"\""), Contains("path must be absolute"));
    CHECK(mistakes("path = 1") == ":1: path must be a text, not a whole number");
    CHECK(mistakes(good_path + "provder = \"prefix\"") == ":2: unknown key \"provder\"; did you mean provider?");
    CHECK(mistakes(good_path + "provider = \"giux\"") == ":2: unknown provider \"giux\"; did you mean guix?");
    CHECK(mistakes(good_path + "provider = \"nix-flakes\"") ==
          ":2: unknown provider \"nix-flakes\"; known: prefix, guix, bundle, command");
    CHECK(mistakes("provider = \"guix\"") == ": the table [guix] is missing");
    CHECK(mistakes(good_path + "[guix]\npackages = [\"hello\"]") ==
          ":2: guix is for provider = \"guix\", which this is not");
    CHECK_THAT(mistakes(good_path + "prefer = \"fast\""), Contains("\"exact\" or \"substitutable\""));
    CHECK(mistakes(good_path + "targets = [\"gfx90a\",\n\"gfx90b\"]") ==
          ":3: " + parse_target("gfx90b").failure().what);
    CHECK(mistakes(good_path + "targets = [\"gfx90a\", \"gfx90a\"]") == ":2: target gfx90a is named twice");
    CHECK_THAT(mistakes(good_path + "targets = []"), Contains("must be a list of targets"));
    CHECK_THAT(mistakes(good_path + "targets = \"gfx90a\""), Contains("must be a list of targets"));
    CHECK_THAT(mistakes(good_path + "targets = [1]"), Contains("targets must hold texts"));
    CHECK_THAT(mistakes(good_path + "edits = 1"), Contains("edits must be a table"));
    CHECK_THAT(mistakes(good_path, "my env.toml"), Contains("the name of an environment"));
}

TEST_CASE("the sources of an environment are read by its provider", "[catalogue]") {
    const temporary_directory directory;
    const auto definition = [&](const std::string& content) {
        const result<environment> read = load_environment(directory.write("e.toml", content));
        if (!read)
            FAIL(read.failure().what);
        return *read;
    };
    const environment guix = definition("provider = \"guix\"\nprefer = \"exact\"\n[guix]\nmanifest = \"/m.scm\"\n"
                                        "channels = \"/c.scm\"\ntune = \"znver3\"\n"
                                        "substitute_urls = [\"https://a\", \"https://b\"]\n");
    CHECK(guix.prefer == preference::exact);
    CHECK(guix.guix == guix_source{"/m.scm", {}, "/c.scm", "znver3", {"https://a", "https://b"}});
    CHECK(definition("provider = \"guix\"\n[guix]\npackages = [\"a\", \"b@1\"]\n").guix.packages.size() == 2);
    const std::string key = "RWRXBlwiOk/RGlWrPX9mGf0mIvVjVxG6dj2eN3878MNW92eggbrmga1v";
    const environment bundle =
        definition("provider = \"bundle\"\n[bundle]\nurls = [\"https://a/x\"]\nkeys = [\"" + key + "\"]\n");
    CHECK(bundle.bundle == bundle_source{{"https://a/x"}, {key}});
    const environment command =
        definition("provider = \"command\"\n[command]\nprogram = \"/x\"\narguments = [\"-v\"]\nuser = \"u\"\n");
    CHECK(command.program == command_source{"/x", {"-v"}, "u"});
}

TEST_CASE("mistakes in sources are named with their line", "[catalogue]") {
    const std::string guix = "provider = \"guix\"\n[guix]\n";
    CHECK_THAT(mistakes(guix), Contains("either manifest"));
    CHECK_THAT(mistakes(guix + "manifest = \"/m\"\npackages = [\"a\"]"), Contains("either manifest"));
    CHECK_THAT(mistakes(guix + "manifest = \"m.scm\""), Contains(":3: manifest must be an absolute path"));
    CHECK_THAT(mistakes(guix + "packages = [1]"), Contains("packages must be a list of texts"));
    CHECK_THAT(mistakes(guix + "packages = [\"a\\nb\"]"), Contains("packages must be a list of texts"));
    CHECK(mistakes(guix + "packages = [\"a\"]\nchanels = \"/c\"") ==
          ":4: unknown key in [guix]: \"chanels\"; did you mean channels?");
    const std::string bundle = "provider = \"bundle\"\n[bundle]\n";
    const std::string key = "RWRXBlwiOk/RGlWrPX9mGf0mIvVjVxG6dj2eN3878MNW92eggbrmga1v";
    CHECK(mistakes(bundle + "urls = [\"https://a\"]\nkeys = [\"RWx\"]") ==
          ":4: one of keys is no public key of minisign, such as \"RW...\" with 56 characters");
    CHECK_THAT(mistakes(bundle + "urls = [\"https://a\"]"), Contains("must hold keys"));
    CHECK_THAT(mistakes(bundle + "keys = [\"" + key + "\"]"), Contains("must hold urls"));
    CHECK(mistakes(bundle + "keys = [\"" + key + "\"]\nurls = [\"ftp://a\"]") ==
          ":4: urls must begin with https:// or http://");
    const std::string command = "provider = \"command\"\n[command]\n";
    CHECK_THAT(mistakes(command), Contains("must hold program"));
    CHECK_THAT(mistakes(command + "program = \"x\""), Contains("program must be an absolute path"));
    CHECK_THAT(mistakes("provider = \"command\"\ncommand = 1"), Contains("command must be a table"));
}

TEST_CASE("mistakes in edits are named with their line", "[catalogue]") {
    const std::string start = good_path + "[edits]\n";
    CHECK(mistakes(start + "prepnd = { A = \"/x\" }") ==
          ":3: unknown table of edits \"prepnd\"; did you mean prepend?");
    CHECK(mistakes(start + "set = { LD_PRELOAD = \"/x.so\" }") ==
          ":3: \"LD_PRELOAD\" may not be edited by an environment");
    CHECK_THAT(mistakes(start + "unset = [\"ROCR_VISIBLE_DEVICES\"]"), Contains("may not be edited"));
    CHECK_THAT(mistakes(start + "prepend = { \"A B\" = \"/x\" }"), Contains("may not be edited"));
    CHECK_THAT(mistakes(start + "unset = \"A\""), Contains("unset must be a list of names"));
    CHECK_THAT(mistakes(start + "unset = [1]"), Contains("unset must hold names"));
    CHECK_THAT(mistakes(start + "unset = [\"A\", \"A\"]"), Contains("A is named twice"));
    CHECK_THAT(mistakes(start + "unset = [\"A\"]\nset = { A = \"1\" }"), Contains("A is both set and unset"));
    CHECK_THAT(mistakes(start + "set = [\"A\"]"), Contains("set must be a table"));
    CHECK_THAT(mistakes(start + "set = { A = 1 }"), Contains("set.A must be a text, not a whole number"));
    CHECK_THAT(mistakes(start + "set = { A = [\"x\"] }"), Contains("set.A must be a text, not a list"));
    CHECK_THAT(mistakes(start + "prepend = { A = [1] }"), Contains("prepend.A must be a text or a list of texts"));
    CHECK_THAT(mistakes(start + "prepend = { A = \"\" }"), Contains("the value of A adds nothing"));
    CHECK_THAT(mistakes(start + "append = { A = [] }"), Contains("the value of A adds nothing"));
    CHECK_THAT(mistakes(start + "prepend = { PATH = \"bin\" }"), Contains("relative path"));
    CHECK_THAT(mistakes(start + "prepend = { LD_LIBRARY_PATH = \"/x:.\" }"), Contains("relative path"));
    CHECK_THAT(mistakes(start + "set = { PATH = \"/bin:\" }"), Contains("current directory"));
    CHECK_THAT(mistakes(start + "set = { A = \"${HOME}/x\" }"), Contains("${prefix}, the only name known"));
    CHECK_THAT(mistakes(start + "set = { A = \"${prefix}${prefi}\" }"), Contains("the only name known"));
    CHECK_THAT(mistakes(start + "set = { A = \"a\\nb\" }"), Contains("control character"));
    CHECK_THAT(mistakes(start + "set = { A = \"" + std::string(longest_variable, 'x') + "\" }"),
               Contains("longer than"));
    CHECK(mistakes(start + "set = { A = \"$x $ORIGIN\", B = \"\" }\nprepend = { A = \"x\" }") == "no mistake");
}

TEST_CASE("the example of a definition is a good one", "[catalogue]") {
    const result<environment> read = load_environment("etc/environments.d/example.toml.example");
    INFO("tests run in the root of the source tree");
    if (!read)
        FAIL(read.failure().what);
}
