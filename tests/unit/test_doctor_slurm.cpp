// Doctor's checks of Slurm's settings, with texts as Slurm prints and reads them.
#include "doctor/plugin_file.hpp"
#include "doctor/slurm_checks.hpp"
#include "system/files.hpp"

#include <catch2/catch.hpp>
#include <elf.h>

using namespace amd_gpu;
using state = step::state;

namespace {

bool says(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

node node_with(uint32_t gpus) {
    node here;
    here.sources = {gpus, gpus, gpus};
    for (uint32_t i = 0; i < gpus; ++i)
        here.gcds.emplace_back().index = i;
    return here;
}

/// A node as scontrol of Slurm 22.05 prints it.
std::string node_text(const std::string& gres, const std::string& more = "State=IDLE ThreadsPerCore=2") {
    return "NodeName=n0 Arch=x86_64 CoresPerSocket=16\n   CPUAlloc=0 CPUTot=64 CPULoad=0.10\n   Gres=" + gres +
           "\n   NodeAddr=n0 NodeHostName=n0 Version=22.05.8\n   " + more + " TmpDisk=0\n";
}

/// A file with one dynamic symbol `name` whose word is `value`, as far as plugin_version_in looks.
std::string plugin_file(const std::string& name, uint32_t value) {
    const std::string names = '\0' + name + '\0';
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shoff = sizeof header;
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_shndx = 2;
    symbol.st_value = 0x5000;
    Elf64_Shdr sections[3]{};
    sections[0].sh_type = SHT_DYNSYM;
    sections[0].sh_link = 1;
    sections[0].sh_offset = sizeof header + sizeof sections;
    sections[0].sh_size = sizeof symbol;
    sections[1].sh_type = SHT_STRTAB;
    sections[1].sh_offset = sections[0].sh_offset + sizeof symbol;
    sections[1].sh_size = names.size();
    sections[2].sh_type = SHT_PROGBITS;
    sections[2].sh_addr = 0x5000;
    sections[2].sh_offset = sections[1].sh_offset + names.size();
    const auto bytes = [](const auto& what) { return std::string(reinterpret_cast<const char*>(&what), sizeof what); };
    return bytes(header) + bytes(sections) + bytes(symbol) + names + bytes(value);
}

} // namespace

TEST_CASE("PrologFlags has Alloc and DeferBatch and not RunInJob", "[doctor][case:SPK-13]") {
    const auto judged = [](const std::string& line) { return check_prolog_flags(slurm_settings_in(line)).found; };
    CHECK(judged("PrologFlags             = Alloc,DeferBatch\n") == state::ok);
    CHECK(judged("PrologFlags             = Alloc,Contain,DeferBatch\n") == state::ok);
    CHECK(judged("PrologFlags             = Alloc\n") == state::wrong);
    CHECK(judged("PrologFlags             = (null)\n") == state::wrong);
    CHECK(judged("PrologFlags             = Alloc,DeferBatch,RunInJob\n") == state::wrong);
    CHECK(judged("ProctrackType           = proctrack/cgroup\n") == state::unknown);
}

TEST_CASE("Slurm counts GPUs and fences them", "[doctor]") {
    CHECK(check_gres_types(slurm_settings_in("GresTypes = gpu,nic")).found == state::ok);
    CHECK(check_gres_types(slurm_settings_in("GresTypes = (null)")).found == state::warning);
    CHECK(check_gres_types({}).found == state::unknown);

    const auto cgroup = slurm_settings_in("TaskPlugin = task/affinity,task/cgroup");
    CHECK(check_fence(cgroup, "# a comment\nconstraindevices = Yes # and one\n").found == state::ok);
    CHECK(check_fence(cgroup, "#ConstrainDevices=yes\n").found == state::warning);
    CHECK(check_fence(slurm_settings_in("TaskPlugin = task/affinity"), "ConstrainDevices=yes").found == state::warning);
    CHECK(check_fence(cgroup, std::nullopt).found == state::unknown);
}

TEST_CASE("the plugin's line in plugstack.conf is found and judged", "[doctor][case:SPK-3][case:SPK-4][case:SPK-12]") {
    const auto judged = [](const std::optional<std::string>& text, const std::optional<bool>& there) {
        return check_plugin({}, text, there, std::nullopt);
    };
    CHECK(judged("optional amd_gpu.so socket=/run/x\n", true).found == state::ok);
    CHECK(judged("required\t/opt/lib/amd_gpu.so\n", true).found == state::warning);
    CHECK(judged("optional amd_gpu.so\n", false).found == state::wrong);
    CHECK(judged("optional amd_gpu.so\n", std::nullopt).found == state::unknown);
    CHECK(judged("# optional amd_gpu.so\noptional other_amd_gpu.so\n", true).found == state::wrong);
    CHECK(judged("include plugstack.d/*.conf\n", true).found == state::unknown);
    CHECK(judged("include\n", true).found == state::unknown);
    CHECK(judged(std::nullopt, std::nullopt).found == state::unknown);
}

TEST_CASE("included files take the place of their lines in plugstack.conf", "[doctor][case:SPK-12]") {
    const include_reader read = [](const std::string& pattern) -> std::optional<std::string> {
        if (pattern == "/etc/slurm/plugstack.conf.d/*.conf")
            return "required /usr/lib/amd_gpu.so\n";
        if (pattern == "loop")
            return "include loop\n";
        if (pattern == "none")
            return "";
        return std::nullopt;
    };
    const auto line = [&](const std::string& text) { return plugin_line_in(with_includes(text, read)); };
    REQUIRE(line("optional x.so\ninclude /etc/slurm/plugstack.conf.d/*.conf # all\n"));
    CHECK(line("include /etc/slurm/plugstack.conf.d/*.conf\n")->required);
    CHECK_FALSE(line("include loop\n"));
    const auto found = [&](const std::string& text) {
        return check_plugin({}, with_includes(text, read), true, std::nullopt).found;
    };
    CHECK(found("include none\n") == state::wrong);
    CHECK(found("include unreadable\n") == state::unknown);
}

TEST_CASE("a plugin of another release of Slurm is wrong, with both releases", "[doctor][case:SPK-1][case:SPK-4]") {
    const auto judged = [](const char* slurm, std::optional<uint32_t> built_for) {
        return check_plugin({{"SLURM_VERSION", slurm}}, "optional amd_gpu.so\n", true, built_for);
    };
    CHECK(judged("22.05.8", 0x160508).found == state::ok);
    CHECK(judged("22.05.11", 0x160508).found == state::ok);
    CHECK(judged("22.05.8", std::nullopt).found == state::ok);
    const auto other = judged("24.11.5", 0x160508);
    CHECK(other.found == state::wrong);
    CHECK(says(other.text, "built for Slurm 22.05, this is 24.11.5"));
    // Not a prefix: 22.5 is no 22.05.
    CHECK(judged("22.50.1", 0x160508).found == state::wrong);
}

TEST_CASE("the release is read from the plugin's file", "[doctor][case:SPK-1]") {
    const std::string whole = plugin_file("plugin_version", 0x180b05);
    CHECK(plugin_version_in(whole) == 0x180b05U);
    CHECK(release_text(0x180b05) == "24.11");
    CHECK_FALSE(plugin_version_in(plugin_file("plugin_versions", 1)));
    CHECK_FALSE(plugin_version_in(plugin_file("lugin_version", 1)));
    for (std::size_t length = 0; length < whole.size(); ++length)
        CHECK_FALSE(plugin_version_in(std::string_view(whole).substr(0, length)));
    // Numbers that lead out of the file or nowhere.
    for (std::size_t place = SELFMAG; place < whole.size() - 4; ++place) {
        std::string broken = whole;
        broken[place] = '\xff';
        plugin_version_in(broken);
    }
    // This program is a file of that kind, and no plugin.
    CHECK_FALSE(plugin_version_in(*read_file("/proc/self/exe", 1U << 30)));
    CHECK_FALSE(plugin_version_in("#!/bin/sh\n"));
}

TEST_CASE("processes that a job leaves behind must be found", "[doctor]") {
    CHECK(check_tracking(slurm_settings_in("ProctrackType = proctrack/cgroup")).found == state::ok);
    CHECK(check_tracking(slurm_settings_in("ProctrackType = proctrack/linuxproc")).found == state::warning);
    CHECK(check_tracking({}).found == state::unknown);
}

TEST_CASE("PrologEpilogTimeout must leave time for a preparation", "[doctor]") {
    const auto judged = [](const char* value) {
        return check_prolog_time({{"PrologEpilogTimeout", value}}, std::chrono::milliseconds(18000));
    };
    CHECK(judged("65534").found == state::ok);
    CHECK(judged("").found == state::ok);
    CHECK(judged("60").found == state::ok);
    CHECK(judged("60 sec").found == state::ok);
    CHECK(judged("22").found == state::warning);
    CHECK(says(judged("22").text, "leaves 17.6 s"));
    CHECK(judged("23").found == state::ok);
    CHECK(says(judged("10 sec").remedy, "PrologEpilogTimeout=23"));
    CHECK(check_prolog_time({}, std::chrono::milliseconds(1)).found == state::unknown);
}

TEST_CASE("what Slurm trips over in gres.conf is found", "[doctor][case:GRES-1][case:GRES-2]") {
    CHECK_FALSE(check_gres_conf("# AutoDetect=amdgpu\nAutoDetect=rsmi\n"));
    CHECK_FALSE(check_gres_conf("Name=gpu File=/dev/dri/renderD128,/dev/dri/renderD129 AutoDetect=off\n"));
    const auto space = check_gres_conf("Name=gpu File=/dev/dri/renderD128, /dev/dri/renderD129\n");
    REQUIRE(space);
    CHECK(space->found == state::wrong);
    const auto way = check_gres_conf("autodetect=AMDGPU\n");
    REQUIRE(way);
    CHECK(says(way->text, "AutoDetect=amdgpu"));
}

TEST_CASE("Slurm's count of a node's GPUs is compared with what is there", "[doctor][case:GRES-1]") {
    CHECK(gpus_in_gres("") == 0U);
    CHECK(gpus_in_gres("gpu") == 1U);
    CHECK(gpus_in_gres("gpu:8") == 8U);
    CHECK(gpus_in_gres("gpu:mi250x:8(S:0-3)") == 8U);
    CHECK(gpus_in_gres("gpu:mi210:2(S:0,2),nic:4,gpu:w6800:1(S:1)") == 3U);
    CHECK_FALSE(gpus_in_gres("gpu:mi210:many"));

    const auto judged = [](const std::string& gres) {
        return check_gres_count(slurm_node_in(node_text(gres)), node_with(8));
    };
    CHECK(judged("gpu:mi250x:8(S:0-3)").found == state::ok);
    CHECK(judged("gpu:7").found == state::warning);
    CHECK(judged("(null)").found == state::warning);
    CHECK(says(judged("(null)").text, "counts 0 GPUs here, this node has 8"));
    CHECK(judged("gpu:8:1").found == state::wrong);
    CHECK(judged("gpu:a:b").found == state::unknown);
    CHECK(check_gres_count(slurm_node_in("Node n7 not found\n"), node_with(8)).found == state::unknown);
}

TEST_CASE("a node that Slurm gives no work is told with the reason", "[doctor]") {
    CHECK_FALSE(check_node_state(std::nullopt));
    CHECK_FALSE(check_node_state(slurm_node_in(node_text("gpu:8"))));
    CHECK_FALSE(check_node_state(slurm_node_in(node_text("gpu:8", "State=MIXED+PLANNED ThreadsPerCore=2"))));
    const auto drained =
        check_node_state(slurm_node_in(node_text("gpu:8", "State=IDLE+DRAIN ThreadsPerCore=2") + "   Reason=a fan\n"));
    REQUIRE(drained);
    CHECK(drained->found == state::warning);
    CHECK(says(drained->text, "(IDLE+DRAIN: a fan)"));
}

TEST_CASE("every GPU of Slurm's is a GCD, in an order that need not be ours", "[doctor][case:VIS-3]") {
    const node here = node_with(3);
    CHECK(check_gres_order({&here.gcds[0], &here.gcds[2]}).found == state::ok);
    CHECK(says(check_gres_order({&here.gcds[2], &here.gcds[0], &here.gcds[1]}).text, "the GCDs 2,0,1"));
    const auto foreign = check_gres_order({&here.gcds[0], nullptr});
    CHECK(foreign.found == state::warning);
    CHECK(says(foreign.text, "GPU 1"));
    CHECK(check_gres_order({}).found == state::unknown);
}
