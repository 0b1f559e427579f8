// What the dynamic loader says it would load for a program (`ld.so --list`), and whether that is the environment's.
// Pure. The formats are glibc's, which ldd has printed for decades (elf/rtld.c, elf/dl-load.c).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// One library that a program needs.
struct listed_library {
    std::string name; ///< as it is asked for: "libamdhip64.so.6"
    std::string path; ///< where it would come from; empty: it is not found

    bool operator==(const listed_library&) const = default;
};

/// "libamdhip64" of "libamdhip64.so.6".
std::string_view stem_of(std::string_view library);
/// Whether a library is one of those that are checked.
bool is_checked(std::string_view library);
/// The lines of `ld.so --list`: "\tNAME => PATH (0x...)", "\tNAME => not found", "\tPATH (0x...)" for
/// what LD_PRELOAD names; others are passed over.
std::vector<listed_library> parse_loader_list(std::string_view text);

/// Why the loader took a library from where it did.
struct loader_reason {
    std::string requester; ///< the first program or library that asks for it; empty: not known
    std::string how;       ///< "LD_LIBRARY_PATH", "RPATH", "RUNPATH", "ld.so.cache", "the system's directories"; empty
    std::string whose;     ///< the file that holds an RPATH or RUNPATH; empty
};
/// Finds that in what the loader prints with LD_DEBUG=libs,files.
loader_reason parse_loader_reason(std::string_view text, std::string_view library);

/// What is wrong with a program's libraries, and how bad it is.
struct loader_finding {
    enum class weight {
        remark, ///< for `verbose`: the program brings its own
        warning,
        fault ///< the program would not run with the environment that the job asks for
    };
    weight how = weight::remark;
    listed_library found;
    std::string own; ///< what the environment has instead
};

/// A file under the name by which it is found and without symbolic links.
struct loadable_file {
    std::string path;
    std::string real;
};

/// The environment's side of it.
struct own_libraries {
    std::string real_place;           ///< where it lies
    std::string store;                ///< the directory of all software of its kind (/gnu/store); empty: none
    std::vector<loadable_file> files; ///< what it has of the libraries that are checked
};

/// Compares: of libamdhip64, libhsa-runtime64 and libstdc++ only what the environment holds itself is checked.
/// - from the environment, or the very same file: nothing to say;
/// - from below the program's own directory tree (`program` is PREFIX/bin/x or PREFIX/x): a bundle, which is the user's
///   own decision: a remark;
/// - from elsewhere, or not found because the environment holds another version: a fault; of libstdc++ a warning.
/// `real` gives a path without symbolic links.
std::vector<loader_finding> judge_loaded(const std::string& program, const std::vector<listed_library>& listed,
                                         const own_libraries& own,
                                         const std::function<std::string(const std::string&)>& real);

/// One line for the user that names the library, where it comes from, who asks for it, and what to do.
std::string text_of(const loader_finding& finding, const std::string& program, const loader_reason& why);

} // namespace amd_gpu
