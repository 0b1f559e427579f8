// Any text as what Slurm's programs print and its files hold: `slurmd -G`, `scontrol show config` and `show node`,
// plugstack.conf with includes, gres.conf, a plugin's file, and as what the HIP probe lists.
#include "doctor/hip_checks.hpp"
#include "doctor/plugin_file.hpp"
#include "doctor/slurm_checks.hpp"
#include "service/slurm_gpus.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    using namespace amd_gpu;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto devices = parse_gres_devices(text)) {
        for (const auto& files : *devices)
            for (const auto& file : files)
                if (file.size() > size + 10) // a name from the text, with a number
                    std::abort();
        if (gcds_of(*devices, node{}, {"/nonexistent", "/nonexistent"}).size() != devices->size())
            std::abort();
    }
    const auto settings = slurm_settings_in(text);
    if (check_prolog_flags(settings).text.empty() || check_gres_types(settings).text.empty())
        std::abort();
    if (check_fence(settings, std::string(text)).text.empty())
        std::abort();
    if (const auto line = plugin_line_in(text); line && !line->path.ends_with("amd_gpu.so"))
        std::abort();
    // A text that includes itself ends.
    int reads = 0;
    with_includes(text.substr(0, 40), [&](const std::string&) -> std::optional<std::string> {
        return ++reads > 100 ? std::nullopt : std::optional(std::string(text.substr(0, 40)));
    });
    if (check_prolog_time(settings, std::chrono::milliseconds(18000)).text.empty())
        std::abort();
    check_gres_conf(text);
    const auto in_slurm = slurm_node_in(text);
    if (check_gres_count(in_slurm, node{}).text.empty())
        std::abort();
    check_node_state(in_slurm);
    gpus_in_gres(text);
    plugin_version_in(text);
    if (const auto hip = parse_hip_view(text); check_hip(hip, hip).text.empty())
        std::abort();
    return 0;
}
