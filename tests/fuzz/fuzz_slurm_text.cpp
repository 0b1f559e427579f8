// Any text as what Slurm's programs print and its files hold: `slurmd -G`, `scontrol show config`, plugstack.conf.
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
    return 0;
}
