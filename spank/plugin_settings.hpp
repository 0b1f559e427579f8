// The plugin's settings: the words behind its path in plugstack.conf. Pure.
#pragma once

#include "result.hpp"

#include <chrono>
#include <string>

namespace amd_gpu {

/// What becomes of a task whose program would load another ROCm than its environment's.
enum class loader_check {
    off,  ///< nobody looks
    warn, ///< it is told and runs
    stop  ///< it is told and ends
};

struct plugin_settings {
    std::string socket = "/run/amd-gpu-agent/agent.sock"; ///< socket=
    std::chrono::milliseconds deadline{45000};   ///< deadline= (seconds): how long a prolog or step waits for the agent
    bool run_without_agent = false;              ///< on_agent_down=run
    bool on_by_default = false;                  ///< default=auto
    loader_check libraries = loader_check::stop; ///< loader_check=
    std::string environments =
        "/etc/amd-gpu/environments.d"; ///< environments=: names checked at submit when it exists here
};

/// Reads the words. Errors (configuration) name the word; the settings read so far are lost.
result<plugin_settings> parse_plugin_settings(int count, char** words);

} // namespace amd_gpu
