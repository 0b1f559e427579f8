#include "environment/guix_program.hpp"

#include "environment/guix_text.hpp"
#include "system/files.hpp"

#include <cerrno>
#include <cstdlib>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {

namespace {

/// Where Guix finds its daemon and how it gets out of a site: nothing of it changes what is built. GUIX_PACKAGE_PATH
/// and GUIX_BUILD_OPTIONS do, and stay behind.
constexpr const char* handed_down[] = {"GUIX_DAEMON_SOCKET", "http_proxy",   "https_proxy", "no_proxy",
                                       "SSL_CERT_FILE",      "SSL_CERT_DIR", "TMPDIR"};

/// What tells a waiting person that something happens.
bool is_event(std::string_view line) {
    for (const std::string_view start : {"building ", "downloading from ", "substitute: ", "successfully built ",
                                         "waiting for locks", "Updating channel ", "Computing Guix derivation"})
        if (line.starts_with(start))
            return true;
    return false;
}

} // namespace

guix_program::guix_program(const settings& site, std::string channels)
    : site_(site)
    , channels_(std::move(channels)) {}

guix_program::~guix_program() {
    if (directory_.empty())
        return;
    ::unlink((directory_ + "/environment.scm").c_str());
    ::rmdir(directory_.c_str());
}

result<std::string> guix_program::write(const std::string& text) {
    constexpr mode_t readable_directory = 0755;
    constexpr mode_t readable = 0644;
    if (directory_.empty()) {
        std::string made = "/tmp/amd-gpu-guix.XXXXXX";
        if (::mkdtemp(made.data()) == nullptr)
            return system_error(errno, made);
        directory_ = made;
        if (::chmod(directory_.c_str(), readable_directory) != 0)
            return system_error(errno, directory_);
    }
    const std::string file = directory_ + "/environment.scm";
    if (const status written = write_file_atomically(file, text, readable); !written)
        return written.failure();
    return file;
}

result<guix_answer> guix_program::run(const std::vector<std::string>& arguments, deadline until, const progress& say) {
    command what;
    what.arguments = {site_.guix_program};
    if (!channels_.empty())
        what.arguments.insert(what.arguments.end(), {"time-machine", "-q", "-C", channels_, "--"});
    what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
    auto as = unprivileged("[guix] user", site_.guix_user, "packages are not evaluated as root");
    if (!as)
        return as.failure();
    what.as = std::move(*as);
    return run(std::move(what), until, say);
}

result<guix_answer> guix_program::run_plainly(const std::vector<std::string>& arguments, deadline until) {
    command what;
    what.arguments = {site_.guix_program};
    what.arguments.insert(what.arguments.end(), arguments.begin(), arguments.end());
    return run(std::move(what), until, {});
}

result<guix_answer> guix_program::run(command what, deadline until, const progress& say) const {
    const result<account> user = account_of(what.as ? what.as->uid : ::geteuid());
    if (!user)
        return user.failure();
    // LC_ALL because we read what it prints.
    what.environment = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + user->home, "LC_ALL=C"};
    for (const char* name : handed_down)
        if (const char* value = ::secure_getenv(name); value != nullptr)
            what.environment.push_back(std::string(name) + "=" + value);
    what.output_limit = std::size_t{64} << 20U; // an error comes at the end of a long build's output
    const result<child_result> ended = amd_gpu::run(what, until, {}, [&](std::string_view line) {
        if (say && is_event(line))
            say(std::string(line));
    });
    if (!ended)
        return ended.failure().code == error_code::not_found
                   ? error{error_code::not_found,
                           ended.failure().what + "; is Guix installed here? ([guix] program in amd-gpu.toml)"}
                   : ended.failure();
    if (ended->succeeded())
        return guix_answer{ended->output, ended->diagnostics};
    if (ended->how == child_result::ending::exited)
        return guix_failure(ended->diagnostics);
    if (ended->how == child_result::ending::signalled)
        return error{error_code::internal, "guix " + ended->text()};
    return error{error_code::timed_out,
                 "guix did not end within the time limit given here; the package that it was building begins anew "
                 "next time, those that were finished are kept"};
}

} // namespace amd_gpu
