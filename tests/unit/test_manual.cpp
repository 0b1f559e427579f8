// The manual pages against the program: whatever a user can type or a job can read stands in them. What a page says of
// it is for people to judge.
#include "commands/commands.hpp"
#include "environment/catalogue.hpp"
#include "node/json.hpp"
#include "outcome.hpp"
#include "probes/options.hpp"
#include "spank/option.hpp"
#include "spank/plugin_settings.hpp"
#include "spank/task.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <functional>
#include <nlohmann/json.hpp>

using namespace amd_gpu;

namespace {

/// A page as its readers see it, as one line of words.
std::string words_of(const std::string& page) {
    command render;
    render.arguments = {"/usr/bin/mandoc", "-Tascii", "-Owidth=1000", "man/" + page}; // so wide that nothing is broken
    render.environment = {"LC_ALL=C"};
    const auto rendered = run(render, deadline::in(std::chrono::seconds(10)));
    INFO("tests run in the root of the source tree, where man/" << page << " is, and need mandoc");
    REQUIRE(rendered);
    REQUIRE(rendered->succeeded());
    std::string text;
    for (const char letter : rendered->output) {
        if (letter == '\b') // bold and underlined letters are printed one over another
            text.pop_back();
        else if (std::isspace(static_cast<unsigned char>(letter)) == 0)
            text += letter;
        else if (!text.empty() && text.back() != ' ')
            text += ' ';
    }
    return text;
}

/// Whether a page holds some words, as words of their own.
bool says(const std::string& page, std::string_view what) {
    const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) {
        const std::size_t end = at + what.size();
        const bool begins = at == 0 || !part_of_word(page[at - 1]) || !part_of_word(what.front());
        if (begins && (end == page.size() || !part_of_word(page[end]) || !part_of_word(what.back())))
            return true;
    }
    return false;
}

} // namespace

TEST_CASE("slurm-amd-gpu(7) has every item of the option, as the help describes it", "[manual]") {
    const std::string page = words_of("slurm-amd-gpu.7");
    for (const option_item& item : option_items()) {
        INFO(usage_of(item));
        CHECK(says(page, usage_of(item)));
        CHECK(says(page, item.help));
    }
}

TEST_CASE("slurm-amd-gpu(7) has every variable that a job gets", "[manual]") {
    const std::string page = words_of("slurm-amd-gpu.7");
    const granted_gcd one{0, 0, "0000:c1:00.0", "55e8462ab3ad7a3d", 128, "gfx90a", {}, {}, {}};
    std::vector<edit> edits = task_edits({one}, "GPU-55e8462ab3ad7a3d", [](const std::string&) { return true; });
    for (edit& more : build_target_edits({target_id{"gfx90a", {}, {}}}))
        edits.push_back(std::move(more));
    CHECK(edits.size() == 11);
    for (const edit& change : edits) {
        INFO(change.name);
        CHECK(says(page, change.name));
    }
    for (const char* name : {"SLURM_AMD_GPU", "SLURM_AMD_GPU_ENVIRONMENT", "SLURM_AMD_GPU_VARIANT"}) {
        INFO(name);
        CHECK(says(page, name));
    }
}

TEST_CASE("slurm-amd-gpu(7) has every outcome and every argument in plugstack.conf", "[manual]") {
    const std::string page = words_of("slurm-amd-gpu.7");
    for (const std::string_view name : outcome_names) {
        std::string outcome(name);
        std::replace(outcome.begin(), outcome.end(), '_', ' ');
        INFO(outcome);
        CHECK(says(page, outcome));
    }
    // The message about an unknown argument lists those that are known.
    std::string unknown = "nothing";
    char* word = unknown.data();
    const auto read = parse_plugin_settings(1, &word);
    REQUIRE_FALSE(read);
    int known = 0;
    for (std::string argument : split(read.failure().what, ' ')) {
        argument.erase(argument.find_last_not_of(',') + 1);
        if (!argument.ends_with('='))
            continue;
        ++known;
        INFO(argument);
        CHECK(says(page, argument));
    }
    CHECK(known == 6);
}

TEST_CASE("amd-gpu-agent(8) has every command and every option of it", "[manual]") {
    const std::string page = words_of("amd-gpu-agent.8");
    CLI::App program;
    command_context context;
    for (const auto add : {add_discover, add_targets, add_resolve, add_probe, add_prepare, add_status, add_config,
                           add_serve, add_slurm_config, add_doctor, add_libraries, add_read_smi})
        add(program, context);
    const std::function<void(const CLI::App&, const std::string&)> check = [&](const CLI::App& of,
                                                                               const std::string& name) {
        for (const CLI::App* command :
             of.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
            check(*command, name + (name.empty() ? "" : " ") + command->get_name());
        INFO(name);
        if (of.get_require_subcommand_max() == 0)
            CHECK(says(page, name));
        for (const CLI::Option* option : of.get_options())
            for (const std::string& text : option->get_lnames()) {
                INFO(text);
                CHECK(says(page, "--" + text));
            }
    };
    check(program, "");
}

TEST_CASE("amd-gpu-agent(8) has every member of a node's JSON", "[manual]") {
    const std::string page = words_of("amd-gpu-agent.8");
    node one;
    one.gcds.resize(1);
    one.links = {{0, 0, "xgmi", std::nullopt, std::nullopt}};
    one.findings = {{finding::severity::note, "smi", std::nullopt, ""}};
    const auto everything = json_of(one, true);
    const auto check = [&](const auto& object) {
        for (const auto& [name, value] : object.items()) {
            INFO(name);
            CHECK(says(page, name));
        }
    };
    check(everything);
    check(everything["sources"]);
    for (const char* list : {"gcds", "links", "findings"})
        check(everything[list][0]);
}

TEST_CASE("amd-gpu-probe(8) has every command and every option of the usage text", "[manual]") {
    const std::string page = words_of("amd-gpu-probe.8");
    const std::string usage = probes::usage;
    int options = 0;
    for (std::size_t at = usage.find("--"); at != std::string::npos; at = usage.find("--", at + 2)) {
        const std::string option = usage.substr(at, usage.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 2) - at);
        ++options;
        INFO(option);
        CHECK(says(page, option));
    }
    CHECK(options > 8);
    for (const char* name : {"gcd", "pairs", "devices", "targets", "hbm_copy", "pattern", "fma64"})
        CHECK(says(page, name));
}
