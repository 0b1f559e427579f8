// The driver's own files of a GPU: read in a child, told line by line so that the parent knows where it got stuck.
// "? NAME" begins a file; "= NAME HEX" (its bytes), "> NAME HEX" (a link's target) or "! NAME REASON" ends it;
// "/ NAME" is a directory.
#include "snapshot/collect.hpp"
#include "snapshot/patterns.hpp"

#include "system/files.hpp"

#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <set>

namespace amd_gpu {
namespace {

/// Below the PCI directory. Names are those of Linux amdgpu_pm.c, amdgpu_vram_mgr.c, amdgpu_gtt_mgr.c, amdgpu_xgmi.c,
/// amdgpu_ras.c, amdgpu_ucode.c and amdgpu_gfx.c. pcie_bw is left out: reading it takes a second.
constexpr std::array gpu_files = {
    "unique_id",
    "serial_number",
    "product_name",
    "product_number",
    "vbios_version",
    "mem_info_*",
    "{current,available}_{compute,memory}_partition",
    "df_cntr_avail",
    "xgmi_*",
    "xgmi_hive_info/xgmi_hive_id",
    "fw_version",
    "fw_version/*_fw_version",
    "ras",
    "ras/{features,version,schema,gpu_vram_bad_pages,*_err_count}",
    "pcie_replay_count",
    "power_dpm_{state,force_performance_level}",
    "pp_dpm_*",
    "pp_{num_states,cur_state,power_profile_mode,od_clk_voltage,features,sclk_od,mclk_od}",
    "{gpu,mem}_busy_percent",
    "thermal_throttling_logging",
    "gpu_metrics",
    "hwmon",
    "hwmon/hwmon*",
    "hwmon/hwmon*/{name,temp*,in*,power*,freq*,fan*,pwm*}",
};

std::string hex_of(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

std::optional<std::string> bytes_of(std::string_view hex) {
    if (hex.size() % 2 != 0)
        return std::nullopt;
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const int high = digit(hex[i]);
        const int low = digit(hex[i + 1]);
        if (high < 0 || low < 0)
            return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

bool tell(const std::string& line) {
    return std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fputc('\n', stdout) != EOF &&
           std::fflush(stdout) == 0;
}

} // namespace

int read_gpu_files(const std::string& directory) {
    for (const char* pattern : gpu_files) {
        for (const auto& path : matches(directory, pattern)) {
            const std::string name = path.substr(directory.size() + 1);
            if (!tell("? " + name))
                return 1;
            const auto read = read_path(path);
            std::string line;
            if (!read)
                line = "! " + name + " " + reason_of(read.failure(), path);
            else if (read->what == archive_entry::kind::directory)
                line = "/ " + name;
            else
                line = (read->what == archive_entry::kind::link ? "> " : "= ") + name + " " + hex_of(read->content);
            if (!tell(line))
                return 1;
        }
    }
    return 0;
}

node_files parse_gpu_files(std::string_view lines) {
    node_files found;
    std::string begun;
    for (const std::string& line : split(lines, '\n')) {
        if (line.size() < 3 || line[1] != ' ')
            continue;
        const auto space = line.find(' ', 2);
        const std::string name = line.substr(2, space == std::string::npos ? space : space - 2);
        const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
        if (name.empty() || name.front() == '/' || name.find("..") != std::string::npos)
            continue;
        if (line[0] == '?') {
            begun = name;
            continue;
        }
        begun.clear();
        if (line[0] == '!')
            found.unreadable.push_back({name, rest});
        else if (line[0] == '/')
            found.entries.push_back({archive_entry::kind::directory, name, ""});
        else if (auto bytes = bytes_of(rest); bytes && (line[0] == '=' || line[0] == '>'))
            found.entries.push_back(
                {line[0] == '>' ? archive_entry::kind::link : archive_entry::kind::file, name, std::move(*bytes)});
    }
    if (!begun.empty())
        found.unreadable.push_back({begun, "does not answer"});
    return found;
}

} // namespace amd_gpu
