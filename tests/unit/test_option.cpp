// The grammar of --amd-gpu: what it takes, what it refuses and how it says so.
#include "spank/option.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <sstream>

using namespace amd_gpu;

namespace {

request accepted(std::string_view text) {
    const auto parsed = parse_request(text);
    INFO(text);
    INFO((parsed ? "" : parsed.failure().what));
    REQUIRE(parsed);
    const auto again = parse_request(parsed->text());
    REQUIRE(again);
    CHECK(*again == *parsed);
    CHECK(again->text() == parsed->text());
    return *parsed;
}

std::string refused(std::string_view text) {
    const auto parsed = parse_request(text);
    INFO(text);
    REQUIRE_FALSE(parsed);
    REQUIRE(parsed.failure().code == error_code::usage);
    const std::string what = parsed.failure().what;
    CHECK(what.size() < 400);
    CHECK(std::ranges::all_of(what, [](char c) { return c >= ' ' && c <= '~'; }));
    return what;
}

} // namespace

TEST_CASE("auto is the default of a request", "[option]") {
    CHECK(accepted("auto") == request{});
    CHECK(accepted("auto").text() == "auto");
    CHECK(accepted("verbose").text() == "auto,verbose");
    CHECK(accepted("env=demo").text() == "auto,env=demo");
    CHECK(accepted("env=demo,auto") == accepted("env=demo"));
}

TEST_CASE("every item is read", "[option]") {
    const request full =
        accepted("verbose,bind=closest,mask=rank,probe=standard,env=demo,gfx942,gfx90a:xnack-:sramecc+");
    CHECK(full.verbose);
    CHECK_FALSE(full.off);
    CHECK_FALSE(full.help);
    CHECK(full.environment == "demo");
    CHECK(full.probe == "standard");
    CHECK(full.mask == "rank");
    CHECK(full.bind == "closest");
    REQUIRE(full.targets.size() == 2);
    CHECK(full.text() == "gfx90a:sramecc+:xnack-,gfx942,env=demo,probe=standard,mask=rank,bind=closest,verbose");
    CHECK(accepted("off").off);
    CHECK(accepted("off").text() == "off");
    CHECK(accepted("help").help);
    CHECK(accepted("help").text() == "help");
}

TEST_CASE("every choice in the table is accepted, and its neighbours are not", "[option]") {
    std::size_t choices = 0;
    for (const option_item& item : option_items()) {
        if (item.kind != item_kind::choice) {
            continue;
        }
        std::istringstream list{std::string(item.argument)};
        for (std::string value; std::getline(list, value, '|'); ++choices) {
            const std::string text = std::string(item.name) + "=" + value;
            CHECK(accepted(text).*item.value == value);
            CHECK_FALSE(parse_request(text + "x"));
            CHECK_FALSE(parse_request(text + " "));
            CHECK_FALSE(parse_request(text + "|"));
            CHECK_FALSE(parse_request(std::string(item.name) + "=" + value.substr(1)));
        }
        CHECK_FALSE(parse_request(std::string(item.name) + "=" + std::string(item.argument)));
    }
    CHECK(choices == 8);
}

TEST_CASE("all known targets may be asked for, alone and together", "[option]") {
    std::string all;
    for (const processor& one : known_processors()) {
        const std::string name(one.name);
        CHECK(accepted(name).targets.at(0).processor == one.canonical);
        all += (all.empty() ? "" : ",") + name;
        if (one.has_xnack) {
            CHECK(accepted(name + ":xnack-").targets.at(0).xnack == feature_mode::off);
            all += "," + name + ":xnack+";
        }
        if (one.has_sramecc) {
            CHECK(accepted(name + ":sramecc+").targets.at(0).sramecc == feature_mode::on);
        }
    }
    const request together = accepted(all);
    CHECK(std::ranges::is_sorted(together.targets));
    CHECK(std::ranges::adjacent_find(together.targets) == together.targets.end());
}

TEST_CASE("the order of targets and saying one twice do not matter", "[option]") {
    CHECK(accepted("gfx942,gfx90a") == accepted("gfx90a,gfx942"));
    CHECK(accepted("gfx90a,gfx90a").text() == "gfx90a");
    CHECK(accepted("polaris10,gfx803").text() == "gfx803");
    CHECK(accepted("gfx90a,gfx90a:xnack+").targets.size() == 2);
}

TEST_CASE("environments are names or files", "[option]") {
    for (const std::string name : {"demo", "rocm-6.4", "a", "GCC_12+x", "0", "x..y", "a.b-c_d+e"}) {
        CHECK(accepted("env=" + name).environment == name);
        CHECK_FALSE(accepted("env=" + name).environment_is_file());
    }
    for (const std::string file : {"./m.scm", "/", "/home/u/my manifest.scm", "../x", "a/b=c", "/tmp/\xc3\xa4"}) {
        CHECK(accepted("env=" + file).environment == file);
        CHECK(accepted("env=" + file).environment_is_file());
    }
    CHECK(accepted("env=" + std::string(longest_name, 'n')).environment.size() == longest_name);
    CHECK(refused("env=" + std::string(longest_name + 1, 'n')) == "the name is longer than 250 bytes (column 5)");
    CHECK(accepted("env=/" + std::string(4094, 'n')).environment.size() == 4095);
    CHECK(refused("env=/" + std::string(4095, 'n')) == "the path is longer than a path can be (column 5)");
    CHECK(refused("env=.hidden") == "the name of an environment may not start with '.' (column 5)");
    CHECK(refused("env=-x") == "the name of an environment may not start with '-' (column 5)");
    CHECK(refused("env=a b") ==
          R"("a b" is no name of an environment (letters, digits and . _ + - only); a file needs a slash (column 5))");
    for (const std::string bad :
         {"..", ".", "m\xc3\xa4", "a=b", "a:b", "a;b", "$(x)", "a\n", "/tmp/a\nb", "/tmp/\x7f"}) {
        CHECK_FALSE(refused("env=" + bad).empty());
    }
    CHECK_FALSE(refused(std::string_view("env=/a\0b", 8)).empty());
}

TEST_CASE("contradictions are refused", "[option]") {
    CHECK(refused("off,verbose") == "off stands alone; no other item goes with it (column 5)");
    CHECK(refused("verbose,off") == "off stands alone; no other item goes with it (column 9)");
    for (const auto* text : {"off,auto", "auto,off", "off,gfx90a", "gfx90a,off", "env=x,off", "off,help", "help,off",
                             "help,verbose", "verbose,help", "off,probe=off"}) {
        CHECK(refused(text).find("stands alone") != std::string::npos);
    }
    CHECK(refused("auto,gfx90a") ==
          "a target does not go with auto: auto takes the GPUs as they come, a target accepts no other (column 6)");
    CHECK(refused("gfx90a,verbose,auto") ==
          "auto does not go with a target: auto takes the GPUs as they come, a target accepts no other (column 16)");
    for (const std::string item : {"auto", "off", "help", "verbose", "env=a", "probe=off", "mask=job", "bind=none"}) {
        const std::string name = item.substr(0, item.find('='));
        CHECK(refused(item + "," + item) == name + " is given twice (column " + std::to_string(item.size() + 2) + ")");
    }
    CHECK(refused("off,probe=off") == "off stands alone; no other item goes with it (column 5)");
    CHECK(refused("env=a,verbose,env=b") == "env is given twice (column 15)");
}

TEST_CASE("mistakes are shown with their place and with what was meant", "[option]") {
    CHECK(refused("gfx90b") == R"("gfx90b" is not a known target; did you mean gfx90a? (column 1))");
    CHECK(refused("verbose,gfx942:xnack") == R"("gfx942:xnack": a feature needs + or - behind it (column 16))");
    CHECK(refused("env=x,GFX90A") == R"("GFX90A" is not a known target; names are lower case: gfx90a (column 7))");
    CHECK(refused("auto,vebose") == R"("vebose" is not known; did you mean verbose? (column 6))");
    CHECK(refused("Auto") == R"("Auto" is not known; did you mean auto? (column 1))");
    CHECK(refused("masks") == R"("masks" is not known; did you mean mask=job|rank|none? (column 1))");
    CHECK(refused("auto,prob=quick") ==
          R"("prob" is no item that takes a value; did you mean probe=off|quick|standard? (column 6))");
    CHECK(refused("x=y") == R"("x" is no item that takes a value (column 1))");
    CHECK(refused("=x") == R"("" is no item that takes a value (column 1))");
    CHECK(refused("probe=qick") ==
          R"("qick" is no value of probe (off, quick, standard); did you mean quick? (column 7))");
    CHECK(refused("probe=full") == R"("full" is no value of probe (off, quick, standard) (column 7))");
    CHECK(refused("probe") == "probe needs a value: probe=off|quick|standard (column 1)");
    CHECK(refused("env=") == "env needs a value: env=NAME|FILE (column 1)");
    CHECK(refused("auto,verbose=1") == "verbose takes no value (column 6)");
    CHECK(refused("TARGET").find("TARGET") != std::string::npos);
    CHECK(refused("TARGET=gfx90a").find("no item that takes a value") != std::string::npos);
    CHECK(refused("foo") == R"("foo" is not a known target; one looks like gfx90a or gfx942:xnack- (column 1))");
    CHECK(refused("MI250X") == R"("MI250X" is a product, not a target; its target is gfx90a (column 1))");
}

TEST_CASE("missing items are refused where they are missing", "[option]") {
    CHECK(refused("") == "an item is missing (column 1)");
    CHECK(refused(",") == "an item is missing (column 1)");
    CHECK(refused("auto,") == "an item is missing (column 6)");
    CHECK(refused(",auto") == "an item is missing (column 1)");
    CHECK(refused("auto,,verbose") == "an item is missing (column 6)");
}

TEST_CASE("a hostile option is refused by a short line of printable ASCII", "[option]") {
    CHECK(refused(std::string(longest_option + 1, 'x')) == "the option is longer than 8192 bytes");
    CHECK(refused(std::string(longest_option, 'x')).size() < 200);
    CHECK(refused(std::string(1 << 20, ',')) == "the option is longer than 8192 bytes");
    CHECK(refused("probe=" + std::string(8000, '\xff')).size() < 400);
    CHECK_FALSE(refused("\x1b]0;title\x07").empty());
    CHECK_FALSE(refused(" auto").empty());
    CHECK_FALSE(refused("auto ").empty());
    CHECK_FALSE(refused("auto verbose").empty());
    CHECK_FALSE(refused(std::string("auto\0", 5)).empty());
    CHECK_FALSE(refused("%s%n,$(id),`id`").empty());
    std::string many = "gfx90a";
    while (many.size() + 7 <= longest_option) {
        many += ",gfx90a";
    }
    CHECK(accepted(many).text() == "gfx90a");
}

TEST_CASE("changed options are refused in words or mean what they print", "[option]") {
    // Pieces of good options, joined, cut and spoilt by a fixed random sequence.
    const std::vector<std::string> pieces = {
        "auto", "off",      "help",     "gfx90a", "gfx942:xnack-", "gfx9-4-generic", "env=demo", "env=/x/y", "probe",
        "=",    ",",        ":",        "+",      "quick",         "mask=",          "job",      "bind",     "verbose",
        "\xff", "sramecc+", "polaris10"};
    std::mt19937 random(20221130); // NOLINT(cert-msc51-cpp): the same sequence every time
    std::size_t good = 0;
    for (int round = 0; round < 50000; ++round) {
        std::string text;
        const auto count = random() % 6;
        for (unsigned i = 0; i <= count; ++i) {
            text += pieces[random() % pieces.size()];
            text += random() % 2 != 0 ? "," : "";
        }
        if (random() % 4 == 0) {
            text[random() % text.size()] = static_cast<char>(random() % 256);
        }
        const auto parsed = parse_request(text);
        if (!parsed) {
            const std::string& what = parsed.failure().what;
            if (what.empty() || what.size() > 400 || what.find("column") == std::string::npos) {
                FAIL("bad refusal of " << text << ": " << what);
            }
            continue;
        }
        ++good;
        const auto again = parse_request(parsed->text());
        if (!again || !(*again == *parsed) || again->text() != parsed->text()) {
            FAIL(text << " does not survive printing: " << parsed->text());
        }
    }
    CHECK(good > 500);
}

TEST_CASE("help shows every item, every choice and every target, in lines that fit a terminal", "[option]") {
    const std::string help = option_help();
    REQUIRE(help.ends_with("\n"));
    std::istringstream lines(help);
    std::string words = " ";
    for (std::string line; std::getline(lines, line);) {
        CHECK(line.size() <= 80);
        CHECK_FALSE(line.ends_with(" "));
        words += line + " ";
    }
    for (const option_item& item : option_items()) {
        CHECK(words.find(" " + usage_of(item) + " ") != std::string::npos);
        CHECK_FALSE(item.help.empty());
        CHECK_FALSE(item.help.ends_with("."));
    }
    for (const processor& one : known_processors()) {
        INFO(one.name);
        const std::string shown =
            std::string(one.name) + (one.name == one.canonical ? "" : "=" + std::string(one.canonical));
        CHECK(words.find(" " + shown + " ") != std::string::npos);
    }
}
