// The settings file: strictness, messages with their lines, and that the example and the manual page tell the truth.
#include "configuration/settings.hpp"

#include "configuration/values.hpp"
#include "system/files.hpp"
#include "temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>

using namespace amd_gpu;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// Loads a text as a settings file; in messages the file's name is "FILE".
result<settings> loaded(const std::string& content) {
    const temporary_directory directory;
    const std::string file = directory.write("amd-gpu.toml", content);
    result<settings> read = load_settings(file);
    if (read)
        return read;
    std::string what = read.failure().what;
    for (std::size_t at = what.find(file); at != std::string::npos; at = what.find(file))
        what.replace(at, file.size(), "FILE");
    return error{read.failure().code, what};
}

std::string mistakes(const std::string& content) {
    const result<settings> read = loaded(content);
    if (read)
        return "no mistake";
    CHECK(read.failure().code == error_code::configuration);
    return read.failure().what;
}

/// A line of a manual page with its double quotes as a reader sees them.
std::string unescaped(std::string line) {
    for (std::size_t at = line.find("\\(dq"); at != std::string::npos; at = line.find("\\(dq"))
        line.replace(at, 4, "\"");
    return line;
}

std::string whole(const std::string& path) {
    const result<std::string> content = read_file(path);
    INFO("tests run in the root of the source tree, where " << path << " is");
    REQUIRE(content);
    return *content;
}

} // namespace

TEST_CASE("no file and an empty file mean the defaults", "[settings]") {
    const result<settings> absent = load_settings("/nonexistent/amd-gpu.toml");
    REQUIRE(absent);
    CHECK(*absent == settings{});
    const result<settings> empty = loaded("");
    REQUIRE(empty);
    CHECK(*empty == settings{});
}

TEST_CASE("every kind of value is read", "[settings]") {
    const result<settings> read = loaded(R"(
[agent]
socket = "/run/x.sock"
[slurm]
drain = false
slurm_conf = ""
slurmd = "/opt/slurm/sbin/slurmd"
gpus_without_gres = "exclusive_nodes"
[discovery]
expected_gcds = 8
deadline = 2.5
[probe]
default = "standard"
min = "quick"
user = "probe"
gcd_bytes = "64MiB"
link_bytes = 1048576
deadline = 600
[environment]
default = "demo"
[job]
mask = "none"
bind = "none"
on_service_fault = "run_anyway"
apu_xnack = true
reserved_cores = "0-2,64,8"
)");
    REQUIRE(read);
    CHECK(read->socket == "/run/x.sock");
    CHECK_FALSE(read->drain);
    CHECK(read->slurm_conf.empty());
    CHECK(read->slurmd == "/opt/slurm/sbin/slurmd");
    CHECK(read->gpus_without_gres == gres_policy::exclusive_nodes);
    CHECK(read->apu_xnack);
    CHECK(read->expected_gcds == 8U);
    CHECK(read->discovery_deadline == 2500ms);
    CHECK(read->probe_default == probe_level::standard);
    CHECK(read->probe_min == probe_level::quick);
    CHECK(read->probe_user == "probe");
    CHECK(read->gcd_bytes == 64ULL << 20);
    CHECK(read->link_bytes == 1ULL << 20);
    CHECK(read->probe_deadline == 600s);
    CHECK(read->default_environment == "demo");
    CHECK(read->mask == mask_mode::none);
    CHECK(read->bind == bind_mode::none);
    CHECK(read->on_service_fault == fault_policy::run_anyway);
    CHECK(read->reserved_cores == std::vector<uint32_t>{0, 1, 2, 8, 64});
    CHECK(read->scontrol == settings{}.scontrol);
}

TEST_CASE("mistakes are named with file and line", "[settings]") {
    CHECK(mistakes("[probe]\ndeadlne = 8\n") == "FILE:2: unknown key in [probe]: \"deadlne\"; did you mean deadline?");
    CHECK(mistakes("\n\n[prob]\ndeadline = 8\n") == "FILE:3: unknown table \"prob\"; did you mean probe?");
    CHECK(mistakes("[job]\nzzz = 1\n") == "FILE:2: unknown key in [job]: \"zzz\"");
    CHECK(mistakes("[probe]\ndeadline = 0\n") ==
          "FILE:2: probe.deadline must be a number of seconds from 0.5 to 600, not 0");
    CHECK(mistakes("[probe]\ndeadline = \"8s\"\n") ==
          "FILE:2: probe.deadline must be a number of seconds from 0.5 to 600, not \"8s\"");
    CHECK(mistakes("[job]\nmask = \"task\"\n") ==
          "FILE:2: job.mask must be one of \"none\", \"job\", \"rank\", not \"task\"");
    CHECK(mistakes("[slurm]\ndrain = \"yes\"\n") == "FILE:2: slurm.drain must be true or false, not \"yes\"");
    CHECK(mistakes("[agent]\nsocket = \"agent.sock\"\n") ==
          "FILE:2: agent.socket must be an absolute path of at most 107 bytes, not \"agent.sock\"");
    CHECK_THAT(mistakes("socket = \"/x\"\n"),
               Contains("FILE:1: \"socket\" stands outside of the tables [agent], [slurm],"));
    CHECK_THAT(mistakes("probe = 1\n"), Contains("FILE:1: \"probe\" stands outside of the tables"));
}

TEST_CASE("values out of range or of the wrong kind are refused", "[settings]") {
    const std::string long_socket = "[agent]\nsocket = \"/" + std::string(107, 'x') + "\"";
    for (const std::string& text : {long_socket,
                                    std::string("[agent]\nsocket = \"\""),
                                    std::string("[agent]\nsocket = \"/a\\nb\""),
                                    std::string("[agent]\nsocket = \"/a\\u0000b\""),
                                    std::string("[agent]\nsocket = 1"),
                                    std::string("[agent]\nsocket = [\"/x\"]"),
                                    std::string("[discovery]\nexpected_gcds = -1"),
                                    std::string("[discovery]\nexpected_gcds = 1025"),
                                    std::string("[discovery]\nexpected_gcds = 8.0"),
                                    std::string("[discovery]\ndeadline = nan"),
                                    std::string("[discovery]\ndeadline = inf"),
                                    std::string("[discovery]\ndeadline = -1"),
                                    std::string("[discovery]\ndeadline = 1979-05-27"),
                                    std::string("[probe]\ngcd_bytes = -1"),
                                    std::string("[probe]\ngcd_bytes = \"1\""),
                                    std::string("[probe]\ngcd_bytes = \"1GB\""),
                                    std::string("[probe]\ngcd_bytes = \"65TiB\""),
                                    std::string("[probe]\ngcd_bytes = \"99999999999999999999GiB\""),
                                    std::string("[probe]\ngcd_bytes = 1.5"),
                                    std::string("[probe]\ndefault = \"Quick\""),
                                    std::string("[probe]\nuser = \"\""),
                                    std::string("[job]\nreserved_cores = \"3-1\""),
                                    std::string("[job]\nreserved_cores = \"0,\""),
                                    std::string("[job]\nreserved_cores = \"9000\""),
                                    std::string("[job]\nreserved_cores = [0]"),
                                    std::string("[job]\nbind = true")}) {
        INFO(text);
        CHECK_THAT(mistakes(text), Contains("FILE:2: ") && Contains(" must be "));
    }
}

TEST_CASE("the levels of probing must be in order", "[settings]") {
    CHECK(mistakes("[agent]\n[probe]\nmin = \"standard\"\n") ==
          "FILE:2: probe.default (\"quick\") must lie between probe.min (\"standard\") and probe.max (\"standard\")");
    CHECK(loaded("[probe]\nmin = \"off\"\ndefault = \"off\"\nmax = \"off\"\n"));
}

TEST_CASE("all mistakes are told at once, in the order of the file", "[settings]") {
    CHECK(mistakes("[job]\nmsk = \"rank\"\nbind = 1\n[probe]\nuser = 3\n[nonsense]\n") ==
          "FILE:2: unknown key in [job]: \"msk\"; did you mean mask?\n"
          "FILE:3: job.bind must be one of \"none\", \"closest\", not 1\n"
          "FILE:5: probe.user must be a text of 1 to 32 bytes, not 3\n"
          "FILE:6: unknown table \"nonsense\"");
}

TEST_CASE("what is not TOML is told with its line", "[settings]") {
    CHECK_THAT(mistakes("[probe]\nuser = \"a\"\nuser = \"b\"\n"), Contains("FILE:3: "));
    CHECK_THAT(mistakes("[probe\n"), Contains("FILE:1: "));
    CHECK_THAT(mistakes("[probe]\n\nx = \n"), Contains("FILE:3: "));
    CHECK_THAT(mistakes("\xff\xfe\x00"), Contains("FILE:1: "));
    CHECK_THAT(mistakes(std::string(2 << 20, '#')), Contains("larger than"));
}

TEST_CASE("a directory or a pipe in place of the file is an error, not a wait", "[settings]") {
    const temporary_directory directory;
    const result<settings> from_directory = load_settings(directory.path());
    REQUIRE_FALSE(from_directory);
    CHECK(from_directory.failure().code == error_code::configuration);
    const std::string pipe = directory.path() + "/pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    const result<settings> from_pipe = load_settings(pipe);
    REQUIRE_FALSE(from_pipe);
    CHECK(from_pipe.failure().what == pipe + ": not a regular file");
}

TEST_CASE("the text of a setting reads back as the same setting", "[settings]") {
    settings changed;
    changed.socket = "/run/\"odd\\name";
    changed.drain = false;
    changed.expected_gcds = 64;
    changed.discovery_deadline = 1250ms;
    changed.probe_default = probe_level::standard;
    changed.gcd_bytes = (1ULL << 30) + 4096;
    changed.mask = mask_mode::job;
    changed.on_service_fault = fault_policy::run_anyway;
    changed.reserved_cores = {0, 1, 2, 8};
    std::string text;
    std::string_view table;
    for (const setting_key& key : setting_keys()) {
        if (key.table != table)
            text += "[" + std::string(key.table) + "]\n";
        table = key.table;
        if (!key.text(changed).empty())
            text += std::string(key.name) + " = " + key.text(changed) + "\n";
    }
    INFO(text);
    const result<settings> back = loaded(text);
    REQUIRE(back);
    CHECK(*back == changed);
}

TEST_CASE("the file that is installed holds every key with its default", "[settings]") {
    const std::string file = whole("etc/amd-gpu.toml");
    REQUIRE(loaded(file));
    CHECK(*loaded(file) == settings{});
    std::string live; // with every "#key = value" put into force
    for (const std::string& line : split(file, '\n'))
        live += (line.size() > 1 && line[0] == '#' && line[1] != ' ' ? line.substr(1) : line) + "\n";
    INFO(live);
    const result<settings> read = loaded(live);
    if (!read)
        FAIL(read.failure().what);
    settings expected;
    expected.expected_gcds = 8; // a key that is not set by default stands there with an example
    CHECK(*read == expected);
    for (const setting_key& key : setting_keys()) {
        INFO(key.table << "." << key.name);
        CHECK_THAT(live,
                   Contains("\n" + std::string(key.name) + " = " + (key.initial.empty() ? "8" : key.initial) + "\n"));
    }
}

TEST_CASE("the manual page names every key, its default and nothing else", "[settings]") {
    std::string page = whole("man/amd-gpu.toml.5");
    page.erase(0, page.find(".Sh SETTINGS"));
    page.erase(page.find("\n.Sh "));
    std::vector<std::string> documented;
    for (const std::string& line : split(page, '\n'))
        if (line.starts_with(".Ss "))
            documented.push_back(line.substr(4, line.find(']') - 3));
        else if (line.starts_with(".It Ic "))
            documented.push_back(unescaped(line.substr(7)));
    std::vector<std::string> known;
    std::string_view table;
    for (const setting_key& key : setting_keys()) {
        if (key.table != table)
            known.push_back("[" + std::string(key.table) + "]");
        table = key.table;
        known.push_back(std::string(key.name) + (key.initial.empty() ? "" : " = " + key.initial));
    }
    CHECK(documented == known);
}

TEST_CASE("sizes, times and lists of cores read back as they were written", "[settings]") {
    for (const uint64_t bytes : {0ULL, 1ULL, 1024ULL, 1ULL << 30, 3ULL << 40, (1ULL << 30) + 1, ~0ULL})
        CHECK(parse_bytes(bytes_text(bytes)) == bytes);
    CHECK(bytes_text(1536ULL << 20) == "1536MiB");
    for (const char* text : {"", "GiB", "1 GiB", "1gib", "0x10", "-1", "1.5GiB", "16777216TiB", "18446744073709551616"})
        CHECK_FALSE(parse_bytes(text));
    CHECK(seconds_text(500ms) == "0.5");
    CHECK(seconds_text(8s) == "8");
    CHECK(parse_cores("") == std::vector<uint32_t>{});
    CHECK(parse_cores("3,1,1-2") == std::vector<uint32_t>{1, 2, 3});
    for (const char* text : {",", "1,,2", "-", "1-", "-1", "a", "0x1", "0-99999999999", " 1"})
        CHECK_FALSE(parse_cores(text));
}

TEST_CASE("the words of the settings read back as themselves", "[settings]") {
    for (const probe_level level : {probe_level::off, probe_level::quick, probe_level::standard})
        CHECK(parse_probe_level(text_of(level)) == level);
    for (const mask_mode mode : {mask_mode::none, mask_mode::job, mask_mode::rank})
        CHECK(parse_mask_mode(text_of(mode)) == mode);
    for (const bind_mode mode : {bind_mode::none, bind_mode::closest})
        CHECK(parse_bind_mode(text_of(mode)) == mode);
    for (const fault_policy policy : {fault_policy::fail_job, fault_policy::run_anyway})
        CHECK(parse_fault_policy(text_of(policy)) == policy);
    CHECK(text_of(probe_level::quick) == "quick");
    CHECK(text_of(mask_mode::rank) == "rank");
    for (const char* text : {"", "of", "offf", "off|quick", "OFF", "|"})
        CHECK_FALSE(parse_probe_level(text));
}
