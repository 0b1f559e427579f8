// Environments: their definitions, the variants of them that lie on disk, the choice among these, and the edits of one.
#include "environment/catalogue.hpp"

#include "environment/prefix.hpp"
#include "good_target.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sys/stat.h>
#include <unistd.h>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using kind = edit::kind;

namespace {

variant variant_at(const std::string& environment, const std::string& name, const std::string& path) {
    variant made;
    made.environment = environment;
    made.provider = "prefix";
    made.targets = {target(name)};
    made.path = path;
    return made;
}

/// A site with one environment, demo, in a directory of its own.
class site {
  public:
    explicit site(const std::vector<std::string>& variants, const std::string& more = "") {
        for (const std::string& name : variants)
            directory.make("envs/demo/" + name);
        definition = directory.write("environments.d/demo.toml",
                                     "path = \"" + directory.path() + "/envs/demo/{target}\"\n" + more);
    }

    [[nodiscard]] catalogue known() const {
        const result<catalogue> read = load_catalogue(directory.path() + "/environments.d");
        if (!read)
            FAIL(read.failure().what);
        return *read;
    }
    [[nodiscard]] std::string path(const std::string& below = "") const {
        return directory.path() + "/envs/demo/" + below;
    }
    [[nodiscard]] result<resolution> resolved(const std::vector<std::string>& devices) const {
        std::vector<target_id> targets;
        for (const std::string& device : devices)
            targets.push_back(target(device));
        const auto demo = find_environment(known(), "demo");
        return demo ? resolve(*demo, prefix_variants(*demo), targets) : demo.failure();
    }
    [[nodiscard]] std::vector<std::string> edits(const std::string& name) const {
        const variant chosen = variant_at("demo", name, path(name));
        const result<std::vector<edit>> all = activation_edits(chosen, known().at("demo"));
        if (!all)
            return {all.failure().what};
        std::vector<std::string> texts;
        for (const edit& change : *all)
            texts.push_back(change.text());
        return texts;
    }

    temporary_directory directory;
    std::string definition;
};

const std::string good_path = "path = \"/opt/envs/demo/{target}\"\n";

} // namespace

TEST_CASE("a site chooses between built for these devices and built for its compiler's own choice", "[catalogue]") {
    environment of;
    of.name = "demo";
    of.provider = "guix";
    variant_candidate exact{variant_at("demo", "gfx90a", "/gnu/a"), ""};
    variant_candidate wide{variant_at("demo", "gfx90a", "/gnu/b"), ""};
    wide.found.targets = {target("gfx90a"), target("gfx942")};
    wide.found.substitutable = true;
    const std::vector<target_id> device{target("gfx90a:sramecc+:xnack-")};
    CHECK(resolve(of, {exact, wide}, device)->chosen.path == "/gnu/b");
    CHECK(resolve(of, {exact}, device)->chosen.path == "/gnu/a");
    of.prefer = preference::exact;
    const result<resolution> chosen = resolve(of, {exact, wide}, device);
    CHECK(chosen->chosen.path == "/gnu/a");
    CHECK(chosen->rejected.size() == 1);
    of.prefer = preference::substitutable;
    CHECK(resolve(of, {exact, wide}, device)->rejected.size() == 1);
    const std::string none = resolve(of, {}, device).failure().what;
    CHECK_THAT(none, Contains("none has been realised") && Contains("amd-gpu-agent realise demo --targets gfx90a"));
}

TEST_CASE("a catalogue holds every definition of its directory", "[catalogue]") {
    const temporary_directory directory;
    CHECK(load_catalogue(directory.path() + "/none")->empty());
    directory.write("a.toml", good_path);
    directory.write("b.toml", good_path);
    directory.write("c.toml.example", "nonsense");
    directory.write(".d.toml", "nonsense");
    const result<catalogue> good = load_catalogue(directory.path());
    REQUIRE(good);
    CHECK(good->size() == 2);
    CHECK(good->at("a").file == directory.path() + "/a.toml");

    const std::string bad = directory.write("e.toml", "x = 1");
    const std::string worse = directory.write("f.toml", good_path + "y = 1");
    const result<catalogue> wrong = load_catalogue(directory.path());
    REQUIRE_FALSE(wrong);
    CHECK_THAT(wrong.failure().what, Contains(bad + ":1: ") && Contains("\n" + worse + ":2: "));
    const result<catalogue> no_directory = load_catalogue(bad);
    REQUIRE_FALSE(no_directory);
    CHECK(no_directory.failure().code == error_code::configuration);
}

TEST_CASE("variants are the directories named for a target", "[catalogue]") {
    const site demo({"gfx90a", "gfx942-xnack_off", "gfx942-sramecc_on-xnack_on", "gfx9-4-generic",
                     "gfx9-4-generic-xnack_on", "bin", "gfx", "gfx90b", "GFX1030", "gfx90a.old", "gfx942-xnack_maybe",
                     "gfx1030-xnack_on"});
    demo.directory.write("envs/demo/gfx1100", "a file");
    std::vector<std::string> found;
    for (const variant_candidate& one : prefix_variants(demo.known().at("demo"))) {
        CHECK(one.unusable.empty());
        CHECK(one.found.targets.size() == 1);
        CHECK(is_directory(one.found.path));
        found.push_back(one.found.targets.front().text());
    }
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<std::string>{"gfx9-4-generic", "gfx9-4-generic:xnack+", "gfx90a",
                                            "gfx942:sramecc+:xnack+", "gfx942:xnack-"});
}

TEST_CASE("the target may be any part of a path", "[catalogue]") {
    const temporary_directory directory;
    directory.make("a-gfx90a-z/rocm");
    directory.make("a-gfx942-z/other");
    directory.make("gfx908");
    environment of;
    of.name = "demo";
    of.path = directory.path() + "/a-{target}-z/rocm";
    const std::vector<variant_candidate> found = prefix_variants(of);
    REQUIRE(found.size() == 1);
    CHECK(found[0].found == variant_at("demo", "gfx90a", directory.path() + "/a-gfx90a-z/rocm"));
}

TEST_CASE("the best variant is chosen and the others are explained", "[catalogue]") {
    const site demo({"gfx90a", "gfx942"});
    const result<resolution> choice = demo.resolved({"gfx90a:sramecc+", "gfx90a:sramecc+"});
    REQUIRE(choice);
    CHECK(choice->chosen == variant_at("demo", "gfx90a", demo.path("gfx90a")));
    CHECK(choice->how == fit::any_mode);
    CHECK(choice->explanation == "gfx90a:sramecc+ <- variant gfx90a; rejected: gfx942 (processor differs)");

    const site exact({"gfx90a", "gfx90a-xnack_off", "gfx90a-xnack_on"});
    const result<resolution> better = exact.resolved({"gfx90a:sramecc+:xnack-"});
    REQUIRE(better);
    CHECK(better->chosen.path == exact.path("gfx90a-xnack_off"));
    CHECK_THAT(better->explanation, Contains("gfx90a:xnack+ (device has xnack-)"));

    const site generic({"gfx9-4-generic"});
    CHECK(generic.resolved({"gfx942:sramecc+", "gfx950:sramecc+"})->how == fit::generic);
}

TEST_CASE("a directory with a colon in its name is explained, not used", "[catalogue]") {
    const site demo({"gfx90a", "gfx90a:xnack-"});
    const result<resolution> choice = demo.resolved({"gfx90a:sramecc+:xnack-"});
    REQUIRE(choice);
    CHECK(choice->chosen.path == demo.path("gfx90a"));
    CHECK_THAT(choice->explanation, Contains("gfx90a:xnack- (PATH cannot hold a ':', rename it to gfx90a-xnack_off)"));

    const site both({"gfx90a-xnack_off", "gfx90a:xnack-"});
    CHECK(both.resolved({"gfx90a:sramecc+:xnack-"})->chosen.path == both.path("gfx90a-xnack_off"));
    CHECK(both.resolved({"gfx90a:sramecc+:xnack-"})->rejected.empty());

    const site named({"gfx90a:xnack-"}, "targets = [\"gfx90a:xnack-\"]");
    const result<resolution> none = named.resolved({"gfx90a:sramecc+:xnack-"});
    REQUIRE_FALSE(none);
    CHECK_THAT(none.failure().what, Contains("rename it to gfx90a-xnack_off"));
}

TEST_CASE("only the targets that a definition names are offered", "[catalogue]") {
    const site demo({"gfx90a", "gfx942"}, "targets = [\"gfx90a\", \"gfx950\"]");
    CHECK(demo.resolved({"gfx90a:sramecc+"}));
    const result<resolution> none = demo.resolved({"gfx942:sramecc+"});
    REQUIRE_FALSE(none);
    CHECK_THAT(none.failure().what,
               Contains("gfx90a (processor differs)") && Contains("gfx950 (no directory " + demo.path("gfx950") + ")"));
}

TEST_CASE("who gets no variant is told why and what to do, in one line", "[catalogue]") {
    const site demo({"gfx90a", "gfx942"});
    const result<resolution> none = demo.resolved({"gfx1030"});
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == error_code::usage);
    CHECK(none.failure().what ==
          "environment demo has no variant for gfx1030: gfx90a (processor differs), gfx942 (processor "
          "differs); ask for nodes whose GPUs it fits, or have it built in " +
              demo.path("gfx1030"));
    const result<resolution> mixed = demo.resolved({"gfx90a:sramecc+", "gfx942:sramecc+"});
    REQUIRE_FALSE(mixed);
    CHECK_THAT(mixed.failure().what,
               Contains("no variant for gfx90a:sramecc+,gfx942:sramecc+: ") && !Contains("built in"));

    const site empty({});
    CHECK_THAT(empty.resolved({"gfx90a:sramecc+"}).failure().what,
               Contains("no directory matches " + empty.path("{target}")));

    const result<environment> typo = find_environment(demo.known(), "dmeo");
    REQUIRE_FALSE(typo);
    CHECK(typo.failure().code == error_code::usage);
    CHECK(typo.failure().what == "no environment \"dmeo\"; did you mean demo?");
    CHECK(find_environment(demo.known(), "unlike").failure().what == "no environment \"unlike\"; there are: demo");
    CHECK_THAT(find_environment({}, "demo").failure().what, Contains("this site has defined none"));
    CHECK_THAT(resolve(demo.known().at("demo"), {}, {}).failure().what, Contains("no GPU is known"));
    const std::string hostile = find_environment(demo.known(), std::string(10000, 'x') + "\n").failure().what;
    CHECK(hostile.size() < 300);
    CHECK(hostile.find('\n') == std::string::npos);
}

TEST_CASE("the directories of a variant become edits", "[catalogue]") {
    const site demo({"gfx90a/bin", "gfx90a/lib/pkgconfig", "gfx90a/lib/cmake", "gfx90a/lib/python3.11/site-packages",
                     "gfx90a/lib64", "gfx90a/include", "gfx90a/share/man", "gfx90a/share/pkgconfig", "gfx90a/sbin"});
    const std::string p = demo.path("gfx90a");
    CHECK(demo.edits("gfx90a") ==
          std::vector<std::string>{
              "prepend PATH=" + p + "/bin", "prepend LD_LIBRARY_PATH=" + p + "/lib:" + p + "/lib64",
              "prepend LIBRARY_PATH=" + p + "/lib:" + p + "/lib64", "prepend CPATH=" + p + "/include",
              "prepend MANPATH=" + p + "/share/man",
              "prepend PKG_CONFIG_PATH=" + p + "/lib/pkgconfig:" + p + "/share/pkgconfig",
              "prepend CMAKE_PREFIX_PATH=" + p, "prepend PYTHONPATH=" + p + "/lib/python3.11/site-packages"});
    const site bare({"gfx90a"});
    CHECK(bare.edits("gfx90a").empty());
    const site pythons({"gfx90a/lib/python3.11/site-packages", "gfx90a/lib/python3.12/site-packages"});
    CHECK(pythons.edits("gfx90a").size() == 2); // the two of lib; which Python is meant, nobody knows
}

TEST_CASE("an activate.toml and the definition come after the directories", "[catalogue]") {
    const site demo({"gfx90a/bin"}, "[edits]\nset = { A = \"site ${prefix}\" }\n");
    const std::string p = demo.path("gfx90a");
    demo.directory.write(
        "envs/demo/gfx90a/activate.toml",
        "set = { A = \"variant\", B = \"${prefix}:${prefix}/x\" }\nprepend.PATH = \"${prefix}/tools\"\n");
    CHECK(demo.edits("gfx90a") == std::vector<std::string>{"prepend PATH=" + p + "/bin", "set A=variant",
                                                           "set B=" + p + ":" + p + "/x",
                                                           "prepend PATH=" + p + "/tools", "set A=site " + p});
    demo.directory.write("envs/demo/gfx90a/activate.toml", "replace_defaults = true\nunset = [\"C\"]\n");
    CHECK(demo.edits("gfx90a") == std::vector<std::string>{"unset C", "set A=site " + p});
}

TEST_CASE("an activate.toml is read strictly", "[catalogue]") {
    const site demo({"gfx90a/bin"});
    const auto with = [&](const std::string& content) {
        const std::string file = demo.directory.write("envs/demo/gfx90a/activate.toml", content);
        const variant chosen = variant_at("demo", "gfx90a", demo.path("gfx90a"));
        const result<std::vector<edit>> all = activation_edits(chosen, demo.known().at("demo"));
        REQUIRE_FALSE(all);
        CHECK(all.failure().code == error_code::configuration);
        CHECK_THAT(all.failure().what, StartsWith(file + ":"));
        return all.failure().what.substr(file.size());
    };
    CHECK(with("\nset = { SLURM_JOB_ID = \"1\" }") == ":2: \"SLURM_JOB_ID\" may not be edited by an environment");
    CHECK(with("replace_default = true") == ":1: unknown key \"replace_default\"; did you mean replace_defaults?");
    CHECK(with("replace_defaults = 1") == ":1: replace_defaults must be true or false");
    CHECK_THAT(with("set = "), StartsWith(":1: "));
}

TEST_CASE("builds get the processors of the job, each once", "[catalogue]") {
    CHECK(build_target_edits({}).empty());
    const std::vector<edit> edits =
        build_target_edits({target("gfx942:sramecc+"), target("gfx90a:sramecc+:xnack-"), target("gfx90a:xnack+")});
    CHECK(edits == std::vector<edit>{{kind::set, "AMDGPU_TARGETS", "gfx90a;gfx942"},
                                     {kind::set, "GPU_TARGETS", "gfx90a;gfx942"},
                                     {kind::set, "PYTORCH_ROCM_ARCH", "gfx90a;gfx942"},
                                     {kind::set, "HCC_AMDGPU_TARGET", "gfx90a,gfx942"}});
}
