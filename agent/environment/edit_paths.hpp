// Directories that activation edits name: those that must not be in LD_LIBRARY_PATH, and those of software that the
// tasks see at another place than the agent.
#pragma once

#include "environment/edits.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// Whether a directory holds a C library or its loader. In LD_LIBRARY_PATH it would break every program of the system,
/// whose loader is of another version (glibc, libc.so.6 and ld-linux*.so must match).
bool holds_c_library(const std::string& directory);

/// Takes such directories out of the edits of LD_LIBRARY_PATH; an edit that has nothing left goes.
void drop_c_library_directories(std::vector<edit>& edits);

/// Writes every path in the values that is `from` or below it as the same below `to`.
void move_paths(std::vector<edit>& edits, const std::string& from, const std::string& to);

} // namespace amd_gpu
