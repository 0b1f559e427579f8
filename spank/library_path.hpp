// LD_LIBRARY_PATH beside an environment: it wins over the run paths that the environment's software was linked with, so
// another ROCm in it would be loaded instead. Pure, but for the look into directories.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Whether a directory holds one of the libraries of a ROCm runtime (libamdhip64, libhsa-runtime64, librocm_smi64,
/// libamd_comgr, under any version).
bool holds_rocm(const std::string& directory);

/// Whether a path is a directory or lies below it: both absolute, without symbolic links.
bool lies_below(std::string_view path, std::string_view directory);

/// The elements of a list of directories, without empty ones.
std::vector<std::string> elements_of(std::string_view list);

/// LD_LIBRARY_PATH with the directories of other ROCms (`foreign`) behind those of the environment (`own`). Where the
/// environment has none in it, its software is found by run paths, which every element precedes: foreign ones are left
/// out. All others keep their order.
std::string with_foreign_last(std::string_view list, const std::function<bool(const std::string&)>& own,
                              const std::function<bool(const std::string&)>& foreign);

/// Which elements of a list are the environment's own and which are another ROCm's, each told by its text.
struct library_places {
    std::vector<std::string> own;
    std::vector<std::string> foreign;
};
/// Looks at the directories themselves; the caller bounds the time. `variant` is where the environment lies.
library_places look_at_libraries(std::string_view list, const std::string& variant);

} // namespace amd_gpu
