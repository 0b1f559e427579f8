#include "doctor/checks.hpp"

#include "system/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace amd_gpu {
namespace {

using enum step::state;

step denied(const opened_device& device, bool in_job) {
    if (device.error == EPERM)
        return {wrong, "rights", fmt::format("{}: the kernel's device fence (cgroup) forbids it", device.path),
                in_job ? "no GPU is allocated to this step: add --gpus-per-node=N to srun, sbatch or salloc"
                       : "this process is in a cgroup without GPUs: ask for them, or leave that cgroup or container"};
    if (device.error == EACCES)
        return {wrong, "rights",
                device.mode ? fmt::format("{}: mode {:04o}, {} keeps this user out", device.path, *device.mode & 07777U,
                                          device.owner)
                            : fmt::format("{}: this user lacks the permission", device.path),
                "add the user to the group of the file, or give it mode 0666 by a udev rule"};
    if (device.error == ENOENT)
        return {wrong, "rights", device.path + " does not exist",
                "load amdgpu, or let udev (or the container) make its device files"};
    return {wrong, "rights", fmt::format("{}: {}", device.path, std::strerror(device.error)),
            "the driver refuses the device: look for amdgpu in the kernel log"};
}

} // namespace

std::string_view text_of(step::state state) {
    switch (state) {
    case ok:
        return "ok";
    case warning:
        return "warning";
    case wrong:
        return "wrong";
    case unknown:
        return "unknown";
    case skipped:
        return "skipped";
    }
    return "unknown";
}

std::vector<step> check_driver(const node& here) {
    const auto& pci = here.sources.pci;
    const auto& kfd = here.sources.kfd;
    if (!pci)
        return {{unknown, "gpus", "the PCI devices cannot be read", ""},
                {skipped, "driver", "not checked", ""},
                {skipped, "kfd", "not checked", ""}};
    if (*pci == 0 && kfd.value_or(0) == 0)
        return {{ok, "gpus", "no AMD GPU here: nothing to check on this host", ""},
                {skipped, "driver", "not checked", ""},
                {skipped, "kfd", "not checked", ""}};
    std::vector<step> steps = {{ok, "gpus", fmt::format("{} AMD GPUs on PCI", *pci), ""}};
    const auto kernel = here.versions.find("kernel");
    std::vector<std::string> unbound;
    for (const gcd& one : here.gcds)
        if (!one.bound)
            unbound.push_back(one.id().text());
    const bool loaded = here.versions.contains("driver");
    if (!loaded && kfd.value_or(0) == 0 && !here.gcds.empty() && unbound.size() == here.gcds.size()) {
        steps.push_back({wrong, "driver",
                         fmt::format("driver amdgpu is not loaded for kernel {}",
                                     kernel == here.versions.end() ? "?" : kernel->second),
                         "install the amdgpu module for this kernel and run modprobe amdgpu"});
        steps.push_back({skipped, "kfd", "not checked", ""});
        return steps;
    }
    if (unbound.empty())
        steps.push_back({ok, "driver", "amdgpu is bound to all of them", ""});
    else
        steps.push_back({wrong, "driver", fmt::format("amdgpu does not drive {}", fmt::join(unbound, ", ")),
                         "look for these addresses in the kernel log"});
    if (!kfd)
        steps.push_back({unknown, "kfd", "KFD's topology cannot be read", ""});
    else if (*kfd < *pci)
        steps.push_back(
            {wrong, "kfd", fmt::format("KFD knows {} GPUs, PCI {}", *kfd, *pci), "look for kfd in the kernel log"});
    else
        steps.push_back({ok, "kfd", fmt::format("KFD knows {} GPUs", *kfd), ""});
    return steps;
}

step check_rights(const std::vector<opened_device>& opened, bool in_job) {
    if (opened.empty())
        return {unknown, "rights", "the device files could not be tried", ""};
    std::vector<const opened_device*> usable;
    const opened_device* refused = nullptr;
    bool only_fenced = true;
    for (const opened_device& device : opened) {
        if (device.path == "/dev/kfd" && device.error != 0)
            return denied(device, in_job);
        if (device.path == "/dev/kfd")
            continue;
        if (device.error == 0) {
            usable.push_back(&device);
        } else {
            // A fenced render node may belong to another job: any other failure tells more.
            if (refused == nullptr || (refused->error == EPERM && device.error != EPERM))
                refused = &device;
            only_fenced = only_fenced && device.error == EPERM;
        }
    }
    if (refused != nullptr && (usable.empty() || !only_fenced))
        return denied(*refused, in_job);
    std::vector<std::string> names;
    for (const auto* device : usable)
        names.push_back(device->path.substr(device->path.rfind('/') + 1));
    if (names.empty())
        return {unknown, "rights", "/dev/kfd opens; no render node is known", ""};
    return {ok, "rights", fmt::format("/dev/kfd and {} GPUs can be opened: {}", names.size(), fmt::join(names, ", ")),
            ""};
}

step check_smi(const node& here, const smi_answer& smi) {
    if (!smi)
        return {smi.failure().code == error_code::not_found ? warning : unknown, "smi", smi.failure().what,
                "install rocm_smi, or name its file as smi_library in [discovery]"};
    const std::string name = fmt::format("SMI{} ({})", smi->version.empty() ? "" : " " + smi->version, smi->library);
    if (here.sources.kfd && here.sources.smi && *here.sources.smi != *here.sources.kfd)
        return {warning, "smi", fmt::format("{} sees {} GPUs, KFD {}", name, *here.sources.smi, *here.sources.kfd),
                "see the findings of amd-gpu-agent discover"};
    return {ok, "smi", fmt::format("{} sees {} GPUs", name, here.sources.smi.value_or(0)), ""};
}

step check_agent(const std::optional<bool>& answers, bool left_state) {
    if (answers)
        return *answers ? step{ok, "agent", "the daemon answers", ""}
                        : step{wrong, "agent", "the daemon does not answer", "systemctl start amd-gpu-agent.socket"};
    if (left_state)
        return {ok, "agent", "the daemon has run here (only root may ask it)", ""};
    return {unknown, "agent", "no trace of the daemon, and only root may ask it", ""};
}

} // namespace amd_gpu
