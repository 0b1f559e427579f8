// The fault file of a simulated node: what its parser takes, what it refuses and where it says the mistake is.
#include "tests/sim/faults.hpp"

#include <catch2/catch.hpp>

using sim::fault_list;
using sim::parse_faults;

namespace {

/// The line and the words of the complaint about TEXT, as "LINE: PROBLEM"; empty when there is none.
std::string complaint(const std::string& text) {
    const fault_list list = parse_faults(text);
    return list.good() ? "" : std::to_string(list.line) + ": " + list.problem;
}

} // namespace

TEST_CASE("a fault file may be empty or hold nothing but comments", "[sim]") {
    CHECK(complaint("") == "");
    CHECK(complaint("\n\n# nothing\n   # here\n") == "");
    CHECK(parse_faults("# hbm gcd=0 scale=0.5\n").faults.empty());
}

TEST_CASE("every kind of fault is known with its parameters", "[sim]") {
    const auto line = GENERATE(
        as<std::string>(), "hbm gcd=3 scale=0.6", "clock gcd=0 scale=0.8", "link gcd=0 to=6 scale=0.25",
        "link gcd=0 to=1 scale=0", "flip gcd=2 probe=hbm_copy bit=17", "hang gcd=1 at=init", "hang gcd=1 at=launch",
        "hang gcd=1 at=copy unkillable=1", "error gcd=1 call=hipMalloc code=2", "lost gcd=7 after=10", "missing gcd=4",
        "ras gcd=2 block=umc ue=1 ce=0", "ras gcd=2 block=xgmi_wafl", "pcie gcd=0 width=8", "temperature gcd=5 c=105",
        "ghost_memory gcd=5 bytes=1073741824", "init code=101");
    CAPTURE(line);
    const fault_list list = parse_faults(line);
    CHECK(list.problem == "");
    REQUIRE(list.faults.size() == 1);
    CHECK(list.faults[0].kind == line.substr(0, line.find(' ')));
    CHECK((list.faults[0].gcd == -1) == (list.faults[0].kind == "init"));
}

TEST_CASE("a fault keeps its GCD apart from its parameters", "[sim]") {
    const fault_list list =
        parse_faults("# slow and wrong\nhbm gcd=3 scale=0.6 # half\n\n\tflip  gcd=2 bit=17 probe=pattern\r\n");
    REQUIRE(list.good());
    REQUIRE(list.faults.size() == 2);
    CHECK(list.faults[0].gcd == 3);
    CHECK(list.faults[0].line == 2);
    CHECK(list.faults[0].number("scale") == 0.6);
    CHECK(list.faults[0].parameters.count("gcd") == 0);
    CHECK(list.faults[1].line == 4);
    CHECK(list.faults[1].text("probe") == "pattern");
    CHECK(list.faults[1].number("bit") == 17);
    CHECK(list.faults[1].number("absent", 5) == 5);
    CHECK(list.faults[1].text("absent", "none") == "none");
}

TEST_CASE("a mistake in a fault file is told with its line", "[sim]") {
    CHECK(complaint("missing gcd=1\nhmb gcd=1 scale=1") == "2: unknown kind of fault 'hmb'");
    CHECK(complaint("\n\nhbm gcd=1 scal=0.5") == "3: 'scal=0.5' is no parameter of hbm");
    CHECK(complaint("hbm gcd=1") == "1: hbm needs scale=");
    CHECK(complaint("hbm scale=0.5") == "1: hbm needs gcd=");
    CHECK(complaint("init gcd=1 code=2") == "1: 'gcd=1' is no parameter of init");
    CHECK(complaint("hbm gcd=1 scale=0.5 scale=0.6") == "1: scale= is given twice");
    CHECK(complaint("hbm gcd=1 scale") == "1: 'scale' is no parameter of hbm");
    CHECK(complaint("hbm gcd=1 scale=half") == "1: scale=half is not a number");
    CHECK(complaint("hbm gcd=1 scale=") == "1: scale= is not a number");
    CHECK(complaint("hbm gcd=-1 scale=1") == "1: gcd=-1 is not between 0 and 255");
    CHECK(complaint("hbm gcd=1.5 scale=1") == "1: gcd=1.5 is not a whole number");
    CHECK(complaint("hbm gcd=1 scale=0") == "1: scale=0 is not between 0.001 and 2");
    CHECK(complaint("hang gcd=1 at=exit") == "1: at=exit is none of init|launch|copy");
    CHECK(complaint("pcie gcd=1 width=32") == "1: width=32 is not between 1 and 16");
    CHECK(complaint("error gcd=1 call= code=2") == "1: call= needs a value");
}

TEST_CASE("numbers that are none are refused", "[sim]") {
    const auto value = GENERATE(as<std::string>(), "nan", "inf", "1e400", "0x", "1 2", "+1", "1,5", "--1");
    CAPTURE(value);
    CHECK(complaint("hbm gcd=1 scale=" + value) != "");
}

TEST_CASE("a bad line spoils the whole fault file", "[sim]") {
    CHECK(parse_faults("missing gcd=1\nnonsense\n").faults.empty());
}

TEST_CASE("a fault file that cannot be read is a problem without a line", "[sim]") {
    const fault_list list = sim::read_faults("/nonexistent/faults");
    CHECK_FALSE(list.good());
    CHECK(list.line == 0);
}
