#include "spank/plugin_settings.hpp"

#include <charconv>
#include <string_view>

namespace amd_gpu {
namespace {

error wrong(std::string_view word, const char* expected) {
    return {error_code::configuration, "plugstack.conf: \"" + std::string(word) + "\": " + expected};
}

} // namespace

result<plugin_settings> parse_plugin_settings(int count, char** words) {
    plugin_settings read;
    for (int i = 0; i < count; ++i) {
        const std::string_view word = words[i];
        const auto equals = word.find('=');
        const auto key = word.substr(0, equals);
        const auto value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
        if (key == "socket" || key == "environments") {
            if (!value.starts_with('/'))
                return wrong(word, "needs an absolute path");
            (key == "socket" ? read.socket : read.environments) = value;
        } else if (key == "deadline") {
            unsigned seconds = 0;
            const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), seconds);
            if (problem != std::errc{} || end != value.data() + value.size() || seconds < 1 || seconds > 3600)
                return wrong(word, "needs whole seconds from 1 to 3600");
            read.deadline = std::chrono::seconds(seconds);
        } else if (key == "on_agent_down") {
            if (value != "fail" && value != "run")
                return wrong(word, "is either fail or run");
            read.run_without_agent = value == "run";
        } else if (key == "default") {
            if (value != "off" && value != "auto")
                return wrong(word, "is either off or auto");
            read.on_by_default = value == "auto";
        } else if (key == "loader_check") {
            if (value != "off" && value != "warn" && value != "stop")
                return wrong(word, "is one of off, warn and stop");
            read.libraries = value == "off"    ? loader_check::off
                             : value == "warn" ? loader_check::warn
                                               : loader_check::stop;
        } else {
            return wrong(word, "is not known; there are socket=, deadline=, on_agent_down=, default=, loader_check= "
                               "and environments=");
        }
    }
    return read;
}

} // namespace amd_gpu
