// The parent's side: starts the reader, bounds it, and takes nothing that it says on trust.
#include "discovery/smi.hpp"

#include "system/files.hpp"
#include "system/process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace amd_gpu {
namespace {

using nlohmann::json;

constexpr int tries = 3;
constexpr auto pause = std::chrono::milliseconds(100);
/// More GPUs than any node has; a larger number is nonsense.
constexpr std::size_t most_devices = 1024;

const json* member(const json& object, const char* name) {
    if (!object.is_object())
        return nullptr;
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

std::optional<uint64_t> number(const json& object, const char* name) {
    const json* value = member(object, name);
    return value != nullptr && value->is_number_unsigned() ? std::optional(value->get<uint64_t>()) : std::nullopt;
}

std::optional<std::string> string(const json& object, const char* name) {
    const json* value = member(object, name);
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

smi_answer ask_once(const std::vector<std::string>& reader, deadline until) {
    // A clean environment: no LD_LIBRARY_PATH, LD_PRELOAD or RSMI_* of whoever started us reaches the library.
    const auto child = run({reader, {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}, std::nullopt}, until);
    if (!child)
        return child.failure().within("rocm_smi reader");
    switch (child->how) {
    case child_result::ending::timed_out:
    case child_result::ending::abandoned:
        return error{error_code::timed_out, "rocm_smi did not answer in time: the reader " + child->text()};
    case child_result::ending::signalled: {
        const auto said = child->last_words();
        return error{error_code::peer,
                     "rocm_smi ended its process: the reader " + child->text() + (said.empty() ? "" : ": " + said)};
    }
    case child_result::ending::exited:
        break;
    }
    if (child->code != 0)
        return error{error_code::peer, "the rocm_smi reader " + child->text()};
    return parse_smi(child->output);
}

} // namespace

std::vector<std::string> smi_locks(const sysfs& where) {
    // rocm_smi's shared_mutex.cc names them so, all versions alike.
    std::vector<std::string> files;
    for (const auto& name : list_directory(where.shm)) {
        if (name.starts_with("rocm_smi"))
            files.push_back(where.shm + "/" + name);
    }
    return files;
}

std::vector<std::string> smi_reader(const std::string& library) {
    std::vector<std::string> reader = {"/proc/self/exe", "read-smi"};
    if (!library.empty())
        reader.push_back(library);
    return reader;
}

smi_answer parse_smi(std::string_view text) {
    const json answer = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
    if (const auto failure = string(answer, "library_error"))
        return error{error_code::not_found, *failure};
    if (const auto failure = string(answer, "start_error"))
        return error{error_code::unsupported, *failure};

    const json* devices = member(answer, "devices");
    if (devices == nullptr || !devices->is_array() || devices->size() > most_devices) {
        return error{error_code::peer, "the rocm_smi reader's answer makes no sense"};
    }
    smi_view view;
    view.library = string(answer, "library").value_or("");
    view.version = string(answer, "version").value_or("");
    for (const auto& entry : *devices) {
        const auto id = number(entry, "id");
        const auto index = number(entry, "index");
        if (!id || !index)
            return error{error_code::peer, "rocm_smi lists a GPU without a PCI address"};
        smi_device device;
        device.index = static_cast<uint32_t>(*index);
        // rocm_smi.h: domain in the high half; partition, bus, device and function in the low one.
        device.bdf = pci_address::from_id(*id >> 32, *id);
        device.partition = static_cast<uint32_t>(*id >> 28 & 0xf);
        device.unique_id = number(entry, "unique_id");
        if (device.unique_id == 0U || device.unique_id == UINT64_MAX)
            device.unique_id.reset();
        view.devices.push_back(device);
    }
    return view;
}

smi_answer ask_smi(const std::vector<std::string>& reader, deadline until) {
    for (int left = tries;; --left) {
        auto answer = ask_once(reader, until);
        // Where two users of the library start at once, one may find its lock taken: the library then says that it
        // cannot start, or ends its process by an exception that nobody catches.
        const bool may_pass =
            !answer && (answer.failure().code == error_code::unsupported || answer.failure().code == error_code::peer);
        if (!may_pass || until.left() < 2 * pause)
            return answer;
        if (left == 1)
            return error{answer.failure().code, fmt::format("{}, {} times", answer.failure().what, tries)};
        std::this_thread::sleep_for(pause);
    }
}

} // namespace amd_gpu
