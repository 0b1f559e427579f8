// The command line of amd-gpu-probe.
#include "options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace amd_gpu::probes {

const char* const usage =
    R"(usage: amd-gpu-probe gcd --bdf BDF[/N] [--probes hbm_copy,pattern,fma64] [OPTION...]
       amd-gpu-probe pairs --bdf BDF[/N] --bdf BDF[/N]... [OPTION...]
       amd-gpu-probe devices [--hip PATH] [--deadline N]
       amd-gpu-probe targets
       amd-gpu-probe --help | --version

Measures GCDs through HIP and prints JSON objects, one a line. It compares nothing with any limit.

  gcd      copy bandwidth of the memory, write and verify patterns, FP64 rate with known answers
  pairs    bandwidth of every ordered pair of GCDs by kernel copies, contents verified
  devices  what the runtime lists under the variables of this process; nothing is measured
  targets  the processors that this program has kernels for

  --bytes N         bytes per array (gcd: 1 GiB, pairs: 256 MiB); halved while the device has not enough memory.
                    The FP64 chains take N / 512 KiB steps per launch, 32 to 2048
  --repeat N        timed launches (gcd: 20, pairs: 8)
  --seed N          of all patterns and operands
  --deadline N      seconds for everything (60); when they pass the program ends at once
  --hip PATH        the HIP runtime to load, instead of the first libamdhip64 found

Exit status: 0 measured everything asked, 2 wrong usage, 3 could not run (no runtime, no such device, no kernels for it),
4 a call of the runtime failed, 5 the deadline passed.
)";

namespace {

constexpr std::uint64_t most_partition = 63;
constexpr std::array<std::string_view, 3> known_probes{"hbm_copy", "pattern", "fma64"};

error wrong(std::string what) {
    return {error_code::usage, std::move(what)};
}

bool is_hexadecimal(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

result<std::uint64_t> whole(const std::string& option, const std::string& text, std::uint64_t least,
                            std::uint64_t most) {
    std::uint64_t value = 0;
    const bool hexadecimal = text.starts_with("0x");
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, value, hexadecimal ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != end || value < least || value > most)
        return wrong(option + ": expected a number from " + std::to_string(least) + " to " + std::to_string(most) +
                     ", not '" + text + "'");
    return value;
}

result<std::vector<std::string>> probe_list(const std::string& text) {
    std::vector<std::string> names;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string name = text.substr(begin, end - begin);
        if (std::find(known_probes.begin(), known_probes.end(), name) == known_probes.end())
            return wrong("--probes: unknown probe '" + name + "'; there are hbm_copy, pattern and fma64");
        names.push_back(name);
        begin = end + 1;
    }
    return names;
}

/// Takes one option and its value into TAKEN.
status take(const std::string& option, const std::string& value, options& taken) {
    constexpr std::uint64_t most = UINT64_MAX;
    if (option == "--bdf") {
        const auto gcd = normal_gcd(value);
        if (!gcd)
            return wrong("--bdf: '" + value + "' is no PCI address such as 0000:c1:00.0, with or without /PARTITION");
        if (std::find(taken.gcds.begin(), taken.gcds.end(), *gcd) != taken.gcds.end())
            return wrong("--bdf: " + *gcd + " is given twice");
        taken.gcds.push_back(*gcd);
        return success();
    }
    if (option == "--probes") {
        auto names = probe_list(value);
        if (!names)
            return names.failure();
        taken.probes = *std::move(names);
        return success();
    }
    if (option == "--hip") {
        if (value.empty())
            return wrong("--hip: expected a path");
        taken.hip_library = value;
        return success();
    }
    if (option == "--deadline") {
        double seconds = 0;
        const char* const end = value.data() + value.size();
        const auto parsed = std::from_chars(value.data(), end, seconds);
        if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds > 0 && seconds <= 86400))
            return wrong("--deadline: expected seconds, more than 0 and at most 86400, not '" + value + "'");
        taken.deadline = seconds;
        return success();
    }
    const bool bytes = option == "--bytes";
    const bool repeat = option == "--repeat";
    if (!bytes && !repeat && option != "--seed")
        return wrong("unknown option '" + option + "'");
    const auto number = whole(option, value,
                              bytes    ? 4096
                              : repeat ? 1
                                       : 0,
                              bytes    ? std::uint64_t{1} << 40U
                              : repeat ? 1000
                                       : most);
    if (!number)
        return number.failure();
    if (bytes)
        taken.sizes.bytes = *number;
    else if (repeat)
        taken.sizes.repeat = static_cast<std::uint32_t>(*number);
    else
        taken.sizes.seed = *number;
    return success();
}

/// What only some commands take.
status check(const options& taken, bool probes_given) {
    if (taken.what == command::pairs && probes_given)
        return wrong("pairs takes no --probes");
    if (taken.what == command::gcd && taken.gcds.size() != 1)
        return wrong("gcd needs exactly one --bdf");
    if (taken.what == command::pairs && taken.gcds.size() < 2)
        return wrong("pairs needs at least two --bdf");
    if (taken.what == command::devices &&
        (probes_given || !taken.gcds.empty() || taken.sizes.bytes != 0 || taken.sizes.repeat != 0))
        return wrong("devices takes only --hip and --deadline");
    return success();
}

} // namespace

result<options> parse_options(const std::vector<std::string>& arguments) {
    options taken;
    if (arguments.empty())
        return wrong("a command is missing: gcd, pairs, devices or targets");
    const std::string& name = arguments.front();
    if (name == "--help" || name == "-h")
        return taken;
    constexpr std::array<std::pair<std::string_view, command>, 4> commands{{{"gcd", command::gcd},
                                                                            {"pairs", command::pairs},
                                                                            {"devices", command::devices},
                                                                            {"targets", command::targets}}};
    const auto* const known =
        std::find_if(commands.begin(), commands.end(), [&](const auto& one) { return one.first == name; });
    if (known == commands.end())
        return wrong("unknown command '" + name + "'; there are gcd, pairs, devices and targets");
    taken.what = known->second;
    taken.sizes.seed = 0x5ca1ab1e0ddba11;
    bool probes_given = false;
    for (std::size_t i = 1; i < arguments.size(); i += 2) {
        if (arguments[i] == "--help" || arguments[i] == "-h")
            return options{};
        if (taken.what == command::targets)
            return wrong("targets takes no options");
        if (i + 1 == arguments.size())
            return wrong(arguments[i] + ": a value is missing");
        if (auto read = take(arguments[i], arguments[i + 1], taken); !read)
            return read.failure();
        probes_given |= arguments[i] == "--probes";
    }
    if (auto good = check(taken, probes_given); !good)
        return good.failure();
    const bool pairs = taken.what == command::pairs;
    if (taken.sizes.bytes == 0)
        taken.sizes.bytes = std::uint64_t{1} << (pairs ? 28U : 30U);
    if (taken.sizes.repeat == 0)
        taken.sizes.repeat = pairs ? 8 : 20;
    return taken;
}

std::optional<std::string> normal_bdf(std::string_view text) {
    std::string bdf(text);
    if (bdf.size() == 7)
        bdf.insert(0, "0000:");
    constexpr std::string_view shape = "xxxx:xx:xx.x";
    if (bdf.size() != shape.size())
        return std::nullopt;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 'x' ? !is_hexadecimal(bdf[i]) : bdf[i] != shape[i])
            return std::nullopt;
        if (bdf[i] >= 'A' && bdf[i] <= 'F')
            bdf[i] = static_cast<char>(bdf[i] - 'A' + 'a');
    }
    return bdf[11] <= '7' ? std::optional(bdf) : std::nullopt;
}

std::optional<std::string> normal_gcd(std::string_view text) {
    const std::size_t slash = text.find('/');
    auto normal = normal_bdf(text.substr(0, slash));
    if (!normal || slash == std::string_view::npos)
        return normal;
    const auto number = whole("", std::string(text.substr(slash + 1)), 0, most_partition);
    return number ? std::optional(*normal + "/" + std::to_string(*number)) : std::nullopt;
}

} // namespace amd_gpu::probes
