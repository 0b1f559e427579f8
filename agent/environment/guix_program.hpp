// Runs the program guix: from a clean environment, never as root, each run with the same file for it to evaluate.
#pragma once

#include "configuration/settings.hpp"
#include "environment/provider.hpp"
#include "system/process.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// How Guix came out of one run: what it printed.
struct guix_answer {
    std::string output;
    std::string diagnostics;
};

class guix_program {
  public:
    /// `channels`: a channels file that every run goes through, or empty.
    guix_program(const settings& site, std::string channels);
    guix_program(const guix_program&) = delete;
    guix_program& operator=(const guix_program&) = delete;
    /// Removes the file.
    ~guix_program();

    /// Runs `guix ARGUMENTS`, through `guix time-machine` where there are channels. Lines about builds and downloads go
    /// to `say`. Errors: guix_failure() of what it printed; timed_out, not_found, permission.
    result<guix_answer> run(const std::vector<std::string>& arguments, deadline until, const progress& say);
    /// The same by the guix of this machine, and, when we are root, as root: for what evaluates no packages.
    result<guix_answer> run_plainly(const std::vector<std::string>& arguments, deadline until);
    /// Writes the text that a run may evaluate where its user can read it. Gives the path. Errors (internal): no room.
    result<std::string> write(const std::string& text);

  private:
    result<guix_answer> run(command what, deadline until, const progress& say) const;

    const settings& site_;
    std::string channels_;
    std::string directory_;
};

} // namespace amd_gpu
