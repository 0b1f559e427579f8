// LD_LIBRARY_PATH beside an environment: it wins over the run paths that the environment's software was linked with, so
// another ROCm in it would be loaded instead. Pure, but for the look into directories.
#pragma once

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

/// What a directory of LD_LIBRARY_PATH is to the environment, as the letter that travels from the process that looked.
enum class library_place : char { other = '-', own = 'o', foreign = 'f' };

/// Looks at each directory; the caller bounds the time. `variant` is where the environment lies. Gives one letter each.
std::string look_at_libraries(const std::vector<std::string>& directories, const std::string& variant);

/// LD_LIBRARY_PATH with the directories of other ROCms behind those of the environment. Where the environment has none
/// in it, its software is found by run paths, which every element precedes: foreign ones are left out. All others keep
/// their order. `places` are the letters for these directories.
std::string with_foreign_last(const std::vector<std::string>& directories, std::string_view places);

/// What is left of a list when everything below a directory is taken out of it.
std::string without_below(std::string_view list, std::string_view directory);

} // namespace amd_gpu
