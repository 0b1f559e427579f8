// Child processes: started without a shell, watched with a deadline, stopped as a group, and abandoned when even
// SIGKILL does not end them (a process stuck in the driver). Nobody ever waits for a child without a limit.
#pragma once

#include "result.hpp"
#include "system/deadline.hpp"
#include "system/fd.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace amd_gpu {

/// Who a child runs as.
struct identity {
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;
};

/// What to run.
struct command {
    std::vector<std::string> arguments;   ///< [0] is an absolute path: nothing is looked up
    std::vector<std::string> environment; ///< "NAME=value"; the child gets these and no others
    std::optional<identity> as;           ///< unchanged when empty
    std::size_t output_limit = 4U << 20;  ///< bytes of output kept; the rest is read and dropped
    std::vector<int> descriptors{};       ///< of ours, which the child gets as 3, 4, ...
};

/// How a child ended.
struct child_result {
    enum class ending { exited, signalled, timed_out, abandoned };
    ending how = ending::exited;
    int code = 0;            ///< exit status or signal number
    std::string output;      ///< its standard output
    std::string diagnostics; ///< its standard error
    pid_t pid = 0;
    std::string stuck_in; ///< for an abandoned child: its state and wait channel ("D kfd_wait_on_events")

    [[nodiscard]] bool succeeded() const { return how == ending::exited && code == 0; }
    /// "exited with status 3", "was killed by signal 9 (Killed)", "ran past its deadline", "survives SIGKILL (...)".
    [[nodiscard]] std::string text() const;
    /// The last line of its standard error, cut to 200 bytes: where a program says why it failed.
    [[nodiscard]] std::string last_words() const;
};

/// Runs a child to its end or to the deadline: then TERM, 200 ms later KILL to its process group, and after two more
/// seconds it is abandoned. `on_line` sees every whole line of standard output as it comes, `on_diagnostic` those of
/// standard error. The child dies with its parent, has its own process group, /dev/null as standard input and no other
/// descriptor of ours than those it is to get. Errors: the program cannot be started (not_found, permission).
result<child_result> run(const command& what, deadline until, const std::function<void(std::string_view)>& on_line = {},
                         const std::function<void(std::string_view)>& on_diagnostic = {});

/// Children that were abandoned and still exist, each as "pid state wchan".
std::vector<std::string> abandoned_children();

/// A user of this system.
struct account {
    std::string name;
    std::string home;
};
/// Looks up a user by number. not_found when there is none.
result<account> account_of(uid_t user);

/// Looks up a user and its groups. not_found when there is no such user.
result<identity> identity_of(const std::string& user);

/// Whom root starts an outsider's program as: the user that a setting names. Nothing when we are not root, and it runs
/// as ourselves. Errors (configuration), beginning with the setting: no such user; root, with `why_not` as the reason.
result<std::optional<identity>> unprivileged(const std::string& setting, const std::string& user,
                                             const std::string& why_not);

} // namespace amd_gpu
