// amd-gpu-agent serve: the node daemon.

#include "commands/commands.hpp"

#include "node/json.hpp"
#include "probing/marker.hpp"
#include "service/server.hpp"
#include "system/files.hpp"

#include <CLI/CLI.hpp>
#include <sys/prctl.h>
#include <sys/syslog.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

/// Leaves what was discovered where everybody may read it; a full disk there costs a job nothing.
void publish(const settings& site, const node& where) {
    status written = make_directories(site.runtime_directory, 0755);
    if (written)
        written = write_file_atomically(site.runtime_directory + "/node.json", json_text(where), 0644);
    if (!written)
        ::syslog(LOG_WARNING, "node.json: %s", written.failure().what.c_str());
}

/// Markers of this boot are from an agent that was killed while it probed; the node itself did not go down.
void forget_unfinished_probes(const settings& site) {
    const auto boot = read_line("/proc/sys/kernel/random/boot_id");
    if (boot)
        probe_markers(site.state_directory, *boot).clear_own();
}

int serve_here(const command_context& context) {
    const auto site = load_settings(context.configuration);
    if (!site)
        return report(site.failure());
    ::openlog("amd-gpu-agent", LOG_PID | LOG_PERROR, LOG_DAEMON);
    const auto listening = listen_at(site->socket);
    if (!listening)
        return report(listening.failure());

    const ending_signals signals; // before `jobs`, which has threads
    forget_unfinished_probes(*site);
    preparations jobs(*site);
    jobs.tidy_up();
    // The first job should not pay for the first discovery; without GPUs, or with a broken driver, there is still a
    // service.
    const auto found = jobs.work().here(deadline::in(site->discovery_deadline));
    if (found) {
        publish(*site, **found);
        ::syslog(LOG_INFO, "%zu GCDs on PCI, serving at %s", (*found)->gcds.size(), site->socket.c_str());
        for (const auto& one : (*found)->findings)
            ::syslog(LOG_WARNING, "%s: %s", one.check.c_str(), one.text.c_str());
    } else {
        ::syslog(LOG_ERR, "discovery: %s", found.failure().what.c_str());
    }
    const auto served = serve(*listening, signals, jobs);
    if (!served)
        return report(served.failure());
    if (!*served)
        ::_exit(exit_ok); // a thread waits for a stuck child; nothing of ours is left to save
    return exit_ok;
}

} // namespace

void add_serve(CLI::App& app, command_context& context) {
    auto* serve_command = app.add_subcommand("serve", "run the node daemon (root; normally started by systemd)");
    serve_command->callback([&context] { context.exit_status = serve_here(context); });
}

} // namespace amd_gpu
