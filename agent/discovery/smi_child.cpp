// The child's side of the rocm_smi reader. It uses only functions whose signature is the same from ROCm 5 to 7, found
// by name, so that one binary serves every version of the library; structures that grew are left alone.
#include "discovery/smi.hpp"

#include "system/fd.hpp"

#include <array>
#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/resource.h>

namespace amd_gpu {
namespace {

using json = nlohmann::ordered_json;

/// The part of rocm_smi.h that is used. Every function returns an rsmi_status_t; 0 is success.
struct smi_version {
    uint32_t major;
    uint32_t minor;
    uint32_t patch;
    const char* build;
};
using init_function = uint32_t (*)(uint64_t flags);
using count_function = uint32_t (*)(uint32_t* count);
using id_function = uint32_t (*)(uint32_t index, uint64_t* id);
using version_function = uint32_t (*)(smi_version* version);
using text_function = uint32_t (*)(uint32_t status, const char** text);

template<typename F>
F find_function(void* library, const char* name) {
    return reinterpret_cast<F>(::dlsym(library, name));
}

/// Names to try, newest first: as the loader knows them, then where AMD's packages put them. A library that was named
/// is the one that is meant: no other takes its place.
std::vector<std::string> candidates(const std::string& library) {
    if (!library.empty())
        return {library};
    constexpr std::array versions = {"7", "6", "5", "1"};
    std::vector<std::string> names;
    for (const char* directory : {"", "/opt/rocm/lib/"}) {
        for (const char* version : versions)
            names.push_back(std::string(directory) + "librocm_smi64.so." + version);
    }
    return names;
}

json failed(const char* kind, const std::string& reason) {
    return json::object({{kind, reason}});
}

/// "rsmi_init failed with status 8 (RSMI_STATUS_INIT_ERROR)"; what follows the name in the library's text is an essay.
std::string failure_text(void* library, const char* function, uint32_t state) {
    std::string text = std::string(function) + " failed with status " + std::to_string(state);
    const auto text_of = find_function<text_function>(library, "rsmi_status_string");
    const char* name = nullptr;
    if (text_of == nullptr || text_of(state, &name) != 0 || name == nullptr)
        return text;
    const std::string_view words(name);
    return text + " (" + std::string(words.substr(0, words.find(':'))) + ")";
}

json ask(void* library) {
    const auto init = find_function<init_function>(library, "rsmi_init");
    const auto count_devices = find_function<count_function>(library, "rsmi_num_monitor_devices");
    const auto pci_id = find_function<id_function>(library, "rsmi_dev_pci_id_get");
    const auto unique_id = find_function<id_function>(library, "rsmi_dev_unique_id_get");
    const auto version_of = find_function<version_function>(library, "rsmi_version_get");
    if (init == nullptr || count_devices == nullptr || pci_id == nullptr) {
        return failed("library_error", "rocm_smi lacks rsmi_init, rsmi_num_monitor_devices or rsmi_dev_pci_id_get");
    }

    json answer;
    if (const uint32_t state = init(0))
        return failed("start_error", failure_text(library, "rsmi_init", state));
    if (smi_version version = {}; version_of != nullptr && version_of(&version) == 0) {
        answer["version"] =
            std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
    }
    uint32_t count = 0;
    if (const uint32_t state = count_devices(&count)) {
        return failed("start_error", failure_text(library, "rsmi_num_monitor_devices", state));
    }
    answer["devices"] = json::array();
    for (uint32_t index = 0; index < count; ++index) {
        json device = json::object({{"index", index}});
        uint64_t id = 0;
        if (pci_id(index, &id) == 0)
            device["id"] = id;
        if (uint64_t unique = 0; unique_id != nullptr && unique_id(index, &unique) == 0)
            device["unique_id"] = unique;
        answer["devices"].push_back(std::move(device));
    }
    return answer;
}

json load_and_ask(const std::string& library) {
    const auto names = candidates(library);
    std::string reasons; // of libraries that are there
    std::string places;
    for (const auto& name : names) {
        if (void* loaded = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            json answer = ask(loaded);
            answer["library"] = name;
            return answer;
        }
        const char* said = ::dlerror();
        const std::string reason = said != nullptr ? said : name;
        // The loader names the file that is absent: this one, or another that this one needs.
        if (!reason.starts_with(name + ": cannot open shared object file: No such file"))
            reasons += (reasons.empty() ? "" : "; ") + reason;
        places += (places.empty() ? "" : " ") + name;
    }
    if (!reasons.empty())
        return failed("library_error", "rocm_smi cannot be loaded: " + reasons);
    return failed("library_error", "rocm_smi library not found (looked for " + places + ")");
}

} // namespace

int read_smi(const std::string& library) {
    // An abort of the library is an answer like any other and worth no core file each time.
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    // The library prints warnings on standard output, so the answer goes another way.
    const unique_fd answer_to(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const unique_fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!answer_to || !nowhere || ::dup2(nowhere.get(), STDOUT_FILENO) < 0)
        return 1;

    const std::string text = load_and_ask(library).dump(-1, ' ', false, json::error_handler_t::replace);
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t step = ::write(answer_to.get(), text.data() + written, text.size() - written);
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return 1;
        written += static_cast<std::size_t>(step);
    }
    return 0;
}

} // namespace amd_gpu
