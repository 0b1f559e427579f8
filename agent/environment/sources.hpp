// Where the variants of an environment come from, by provider, and how an administrator writes it in the definition:
// the tables [guix], [bundle] and [command] of environments.d/NAME.toml. Reading checks; nothing is opened or run.
#pragma once

#include "configuration/document.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// Software of GNU Guix: a manifest file or package names.
struct guix_source {
    std::string manifest;              ///< absolute path; empty when packages are named
    std::vector<std::string> packages; ///< as on Guix's command line, "openblas@0.3"
    std::string channels;              ///< absolute path of a channels.scm with full commits; empty: this guix as it is
    std::string tune;                  ///< a CPU for --tune; empty: none
    std::vector<std::string> substitute_urls; ///< empty: as the daemon is configured

    bool operator==(const guix_source&) const = default;
};

/// Images on web servers, listed in a signed index.
struct bundle_source {
    std::vector<std::string> urls; ///< mirrors, in the order in which they are tried; http or https
    std::vector<std::string> keys; ///< public keys in minisign's form, any of which may have signed the index

    bool operator==(const bundle_source&) const = default;
};

/// A site's own program.
struct command_source {
    std::string program;                ///< absolute path
    std::vector<std::string> arguments; ///< before the verb
    std::string user = "nobody";        ///< it runs as

    bool operator==(const command_source&) const = default;
};

/// Each reads the table of its name; what is wrong with it goes to the complaints.
void read_source(const toml_entry& table, guix_source& to, complaints& wrong);
void read_source(const toml_entry& table, bundle_source& to, complaints& wrong);
void read_source(const toml_entry& table, command_source& to, complaints& wrong);

} // namespace amd_gpu
