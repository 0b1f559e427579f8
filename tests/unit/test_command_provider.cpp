// What a site's program may answer, and how it is run: well, badly, and not at all.
#include "environment/command_provider.hpp"

#include "configuration/settings.hpp"
#include "system/process.hpp"
#include "temporary_directory.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace amd_gpu;
using Catch::Matchers::Contains;
using nlohmann::json;
using need = realise_plan::need;

namespace {

const std::vector<target_id> both = {{"gfx90a"}, {"gfx942"}};

/// An environment whose program is a shell script below a directory that everybody may enter.
struct site_program {
    explicit site_program(const std::string& script, mode_t mode = 0755) {
        of.name = "demo";
        of.provider = "command";
        of.program.program = directory.write("program", "#!/bin/sh\n" + script + "\n");
        ::chmod(directory.path().c_str(), 0755);
        ::chmod(of.program.program.c_str(), mode);
    }
    [[nodiscard]] std::unique_ptr<realiser> made() const {
        auto one = make_realiser(site, of);
        REQUIRE(one);
        return std::move(*one);
    }
    [[nodiscard]] result<variant> realise(std::chrono::milliseconds time = std::chrono::seconds(20)) const {
        return made()->realise({{"gfx90a"}}, "", deadline::in(time), {});
    }

    temporary_directory directory;
    settings site;
    environment of;
};

std::string said(const std::string& text) {
    return "cat <<'END'\n" + text + "\nEND";
}

std::string failure_of(const result<variant>& what) {
    REQUIRE_FALSE(what);
    return what.failure().what;
}

} // namespace

TEST_CASE("a plan says what it takes", "[command]") {
    const auto plan = parse_command_plan(
        R"({"need": "build", "fetches": 3, "builds": 2, "fetch_bytes": 5000000000, "lines": ["hip\u001b[2J", "fftw"]})");
    REQUIRE(plan);
    CHECK(plan->what == need::build);
    CHECK(plan->fetches == 3);
    CHECK(plan->builds == 2);
    CHECK(plan->fetch_bytes == 5000000000U);
    CHECK(plan->lines == std::vector<std::string>{"hip?[2J", "fftw"});
}

TEST_CASE("what a plan does not say is not known", "[command]") {
    for (const char* text : {R"({"need": "ready"})", R"({"need": "ready", "fetch_bytes": null})"}) {
        const auto plan = parse_command_plan(text);
        REQUIRE(plan);
        CHECK(plan->what == need::ready);
        CHECK(plan->builds == 0);
        CHECK_FALSE(plan->fetch_bytes);
    }
}

TEST_CASE("a plan that is none is refused", "[command]") {
    for (const auto& [text, why] : std::initializer_list<std::pair<std::string, std::string>>{
             {"", "empty"},
             {"==> Warning: no compilers\n{}", "no JSON object but \"==> Warning"},
             {"[]", "no JSON object"},
             {R"({"need": "ready"} {"need": "ready"})", "no JSON object"},
             {"{}", "need must be"},
             {R"({"need": "perhaps"})", "need must be"},
             {R"({"need": 1})", "need must be"},
             {R"({"need": "build", "builds": -1})", "builds must be"},
             {R"({"need": "build", "builds": 1.5})", "builds must be"},
             {R"({"need": "build", "builds": 5000000000})", "out of range"},
             {R"({"need": "fetch", "fetch_bytes": "1 GB"})", "fetch_bytes must be"},
             {R"({"need": "fetch", "lines": "fftw"})", "lines must be"},
             {R"({"need": "fetch", "lines": [1]})", "lines must hold"},
             {R"({"need": "fetch", "size": 1})", "unknown member \"size\""},
             {std::string(longest_record + 1, ' '), "longer than"}}) {
        INFO(text.substr(0, 100));
        const auto plan = parse_command_plan(text);
        REQUIRE_FALSE(plan);
        CHECK(plan.failure().code == error_code::peer);
        CHECK_THAT(plan.failure().what, Contains(why));
    }
}

TEST_CASE("a program says where its variant lies and what it changes", "[command]") {
    const auto made = parse_command_variant(
        R"({"path": "/apps/view", "targets": ["gfx942", "gfx90a"], "suggests_edits": false,
            "edits": ["prepend PATH=${prefix}/bin", "set ROCM_PATH=${prefix}"], "provenance": {"spack": "1.0.2"}})",
        both);
    REQUIRE(made);
    CHECK(made->path == "/apps/view");
    CHECK(made->kept == storage::prefix);
    CHECK(made->targets == both);
    CHECK_FALSE(made->substitutable);
    CHECK_FALSE(made->suggests_edits);
    REQUIRE(made->edits.size() == 2);
    CHECK(made->edits[1].text() == "set ROCM_PATH=${prefix}");
    CHECK(made->provenance.at("spack") == "1.0.2");

    const auto own_choice = parse_command_variant(R"({"path": "/apps/view", "targets": ["gfx90a"]})", {});
    REQUIRE(own_choice);
    CHECK(own_choice->substitutable);
    CHECK(own_choice->suggests_edits);
}

TEST_CASE("a variant that a record could not hold is refused", "[command]") {
    const auto with = [](const std::string& member) {
        json answer = json::parse(R"({"path": "/apps/view", "targets": ["gfx90a"]})");
        answer.update(json::parse("{" + member + "}"));
        return answer.dump();
    };
    for (const auto& [text, why] : std::initializer_list<std::pair<std::string, std::string>>{
             {"Segmentation fault", "no JSON object"},
             {R"({"targets": ["gfx90a"]})", "path is missing"},
             {R"({"path": "/apps/view"})", "targets names none"},
             {with(R"("path": "apps/view")"), "path must be absolute"},
             {with(R"("path": "/apps/../etc")"), "path must be absolute"},
             {with(R"("path": "/")"), "path must be absolute"},
             {with(R"("path": "/apps/a b")"), "path must be absolute"},
             {with(R"("path": "/apps:/etc")"), "path must be absolute"},
             {with(R"("targets": [])"), "targets names none"},
             {with(R"("targets": "gfx90a")"), "targets must be a list"},
             {with(R"("targets": ["MI250X"])"), "targets: "},
             {with(R"("targets": ["gfx942"])"), "for gfx942, not for gfx90a"},
             {with(R"("targets": ["gfx90a", "gfx942"])"), "for gfx90a,gfx942, not for gfx90a"},
             {with(R"("targets": ["gfx90a:xnack-"])"), "for gfx90a:xnack-, not for gfx90a"},
             {with(R"("edits": ["set HIP_VISIBLE_DEVICES=0"])"), "HIP_VISIBLE_DEVICES may not be edited"},
             {with(R"("edits": ["set LD_PRELOAD=/tmp/x.so"])"), "LD_PRELOAD may not be edited"},
             {with(R"("edits": ["set HSA_OVERRIDE_GFX_VERSION=9.0.10"])"), "may not be edited"},
             {with(R"("edits": ["PATH=/bin"])"), "edits: "},
             {with(R"("edits": {"PATH": "/bin"})"), "edits must be a list"},
             {with(R"("edits": ["set A=b\nc"])"), "control characters"},
             {with(R"("provenance": {"a": 1})"), "provenance must hold"},
             {with(R"("environment": "other")"), "unknown member \"environment\""},
             {with(R"("blob": "00")"), "unknown member \"blob\""},
             {with(R"("storage": "store")"), "unknown member \"storage\""}}) {
        INFO(text);
        const auto made = parse_command_variant(text, {{"gfx90a"}});
        REQUIRE_FALSE(made);
        CHECK(made.failure().code == error_code::peer);
        CHECK_THAT(made.failure().what, Contains(why));
    }
}

TEST_CASE("a program gets its arguments, the verb, the environment and the targets, and nothing else", "[command]") {
    ::setenv("LD_LIBRARY_PATH", "/opt/rocm-5/lib", 1);
    site_program program("printf '%s;' \"$@\" >&2; echo >&2\nenv | sort >&2\necho '{\"need\": \"ready\"}'");
    program.of.program.arguments = {"--site", "a b"};
    std::vector<std::string> lines;
    const auto plan = program.made()->plan(both, deadline::in(std::chrono::seconds(20)),
                                           [&](const std::string& line) { lines.push_back(line); });
    ::unsetenv("LD_LIBRARY_PATH");
    REQUIRE(plan);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines[0] == "--site;a b;plan;demo;gfx90a,gfx942;");
    std::vector<std::string> names;
    for (auto line = lines.begin() + 1; line != lines.end(); ++line)
        names.push_back(line->substr(0, line->find('=')));
    for (const std::string& name : names) {
        INFO(name); // PWD and the like are the shell's own
        CHECK(std::set<std::string>{"HOME", "LC_ALL", "PATH", "USER", "PWD", "OLDPWD", "SHLVL", "_"}.contains(name));
    }
    CHECK(std::find(names.begin(), names.end(), "HOME") != names.end());

    const auto own_choice = program.made()->plan({}, deadline::in(std::chrono::seconds(20)),
                                                 [&](const std::string& line) { lines.push_back(line); });
    REQUIRE(own_choice);
    CHECK(std::find(lines.begin(), lines.end(), "--site;a b;plan;demo;default;") != lines.end());
}

TEST_CASE("a program that root asks runs as its user", "[command]") {
    if (::geteuid() != 0)
        return;
    site_program program("id -un >&2; echo '{\"need\": \"ready\"}'");
    std::string who;
    const auto plan = program.made()->plan(both, deadline::in(std::chrono::seconds(20)),
                                           [&](const std::string& line) { who = line; });
    REQUIRE(plan);
    CHECK(who == "nobody");
    program.of.program.user = "root";
    CHECK_THAT(failure_of(program.realise()), Contains("does not run as root"));
    program.of.program.user = "no-such-user";
    CHECK_THAT(failure_of(program.realise()), Contains("there is no user \"no-such-user\""));
}

TEST_CASE("a program makes a variant", "[command]") {
    site_program program("");
    const std::string view = program.directory.make("view");
    program.directory.write("program", "#!/bin/sh\n[ \"$1\" = realise ] || exit 9\necho 'installing hip' >&2\n" +
                                           said(R"({"path": ")" + view + R"(", "targets": ["gfx90a"]})"));
    const auto made = program.realise();
    REQUIRE(made);
    CHECK(made->path == view);
    CHECK(made->provenance.at("program") == program.of.program.program);
}

TEST_CASE("a variant that is not there is refused", "[command]") {
    const site_program program(said(R"({"path": "/nowhere/at/all", "targets": ["gfx90a"]})"));
    CHECK_THAT(failure_of(program.realise()), Contains("program realise: /nowhere/at/all is gone"));
    const site_program file(said(R"({"path": "/etc/passwd", "targets": ["gfx90a"]})"));
    CHECK_THAT(failure_of(file.realise()), Contains("is no directory"));
}

TEST_CASE("a program that hangs is ended at the deadline", "[command]") {
    const site_program program("trap '' TERM\nwhile :; do sleep 100; done");
    const auto made = program.realise(std::chrono::milliseconds(300));
    REQUIRE_FALSE(made);
    CHECK(made.failure().code == error_code::timed_out);
    CHECK_THAT(made.failure().what, Contains("program realise did not end within the time limit"));
}

TEST_CASE("a program that floods its output is refused, not kept in memory", "[command]") {
    const site_program program("head -c 50000000 /dev/zero | tr '\\0' 'x'");
    CHECK_THAT(failure_of(program.realise()), Contains("longer than 1048576 bytes"));
    const site_program errors("head -c 50000000 /dev/zero | tr '\\0' 'x' >&2\nexit 1");
    CHECK(failure_of(errors.realise()).size() < 500);
}

TEST_CASE("a program that fails is quoted", "[command]") {
    const site_program program("echo 'first' >&2; printf 'Error: no \\033[1mspec\\n\\n' >&2; echo '{}'; exit 3");
    const auto made = program.realise();
    CHECK_THAT(failure_of(made), Contains("program realise exited with status 3: Error: no ?[1mspec"));
    CHECK(made.failure().code == error_code::internal);
    const site_program killed("kill -SEGV $$");
    CHECK_THAT(failure_of(killed.realise()), Contains("signal 11"));
    const site_program garbage("echo 'Loading modules... done'");
    CHECK_THAT(failure_of(garbage.realise()), Contains("no JSON object but \"Loading modules"));
    const site_program silent("exit 0");
    CHECK_THAT(failure_of(silent.realise()), Contains("its answer: empty"));
}

TEST_CASE("a program that cannot be run is named", "[command]") {
    site_program program("");
    program.of.program.program = program.directory.path() + "/missing";
    CHECK_THAT(failure_of(program.realise()), Contains("/missing"));
    CHECK(program.realise().failure().code == error_code::not_found);
    CHECK(program.made()->digest().failure().code == error_code::not_found);
    const site_program not_executable("", 0644);
    CHECK(not_executable.realise().failure().code == error_code::permission);
    CHECK_THAT(failure_of(not_executable.realise()), Contains("/program"));
}

TEST_CASE("another program, other arguments and another environment make another digest", "[command]") {
    site_program program("echo one");
    std::set<std::string> digests;
    const auto digest = [&] {
        const auto one = program.made()->digest();
        REQUIRE(one);
        digests.insert(*one);
    };
    digest();
    digest();
    CHECK(digests.size() == 1);
    program.of.program.arguments = {"a", "b"};
    digest();
    program.of.program.arguments = {"ab"};
    digest();
    program.of.name = "other";
    digest();
    program.directory.write("program", "#!/bin/sh\necho two\n");
    digest();
    CHECK(digests.size() == 5);
    // and so does another content of a file that the program is given
    program.of.program.arguments = {program.directory.write("template", "gcc")};
    digest();
    program.directory.write("template", "clang");
    digest();
    digest();
    CHECK(digests.size() == 7);
}

TEST_CASE("a program hears of what is no longer used", "[command]") {
    const site_program program("[ \"$*\" = 'release demo gfx90a /apps/view' ]");
    variant what;
    what.targets = {{"gfx90a"}};
    what.path = "/apps/view";
    CHECK(release_command_variant(program.of, what, deadline::in(std::chrono::seconds(20))));
    what.path = "/apps/other";
    CHECK_FALSE(release_command_variant(program.of, what, deadline::in(std::chrono::seconds(20))));
}
