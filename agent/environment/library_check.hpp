// What the libraries and programs of a variant really hold and need, whatever its record says: code for which GPUs, and
// which libraries of which versions. A variant that lacks code for a GPU fails there only when a kernel is launched, or
// computes nothing at all.
#pragma once

#include "environment/code_objects.hpp"
#include "environment/elf_file.hpp"
#include "system/deadline.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace amd_gpu {

/// One file of a variant.
struct library_file {
    std::string name; ///< below the variant's path; of a file that was named apart, its path
    embedded_code code;
    std::optional<elf_dynamic> linked; ///< nothing: no library and no program
    std::set<std::string> reached;     ///< of the libraries that it needs, those to which its own run path leads
};

struct library_finding {
    bool fault = false; ///< it would fail in a job; else worth knowing
    std::string text;   ///< one line, begins with the file's name

    bool operator==(const library_finding&) const = default;
};

struct library_report {
    std::size_t looked_at = 0;       ///< how many libraries, programs and code objects
    std::vector<library_file> files; ///< those that hold GPU code or could not be read, sorted by name
    std::vector<library_finding> findings;
};

/// What is wrong with files that are used together, for these devices; for no devices, what is wrong with them
/// anywhere. Pure. Code objects that are files of their own (names in .co, .hsaco) count together, by directory: each
/// is for one target.
/// - No code, or code without kernels, for a device in a file that has kernels for others; no code at all in a file
/// that
///   registers some with HIP.
/// - A library of ROCm that is needed in another version than the one that is there: two of its runtimes cannot work in
///   one process.
/// - A version of symbols (GLIBCXX_3.4.32) that the library which is there does not have.
/// - Run paths to another ROCm, libraries of ROCm that are not there, and what could not be read: worth knowing.
std::vector<library_finding> judge_libraries(const std::vector<library_file>& files, const std::string& path,
                                             const std::vector<target_id>& devices);

/// Reads the libraries and code objects below PATH/lib*, and the programs in PATH/bin; or PATH itself, when it is a
/// file. Links are followed, since views and profiles are made of them, but no file is read twice. `program`: another
/// program or library that is used together with them, or empty. Errors (not_found, permission): no such path;
/// (timed_out); (unsupported): more files than anybody has.
result<library_report> check_libraries(const std::string& path, const std::string& program,
                                       const std::vector<target_id>& devices, deadline until);

/// The texts of the findings that would fail in a job.
result<std::vector<std::string>> library_findings(const std::string& path, const std::vector<target_id>& devices,
                                                  deadline until);

} // namespace amd_gpu
