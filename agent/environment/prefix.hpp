// The provider "prefix": environments that lie on disk already, one directory per target. Finds the variants of one and
// derives the edits that put a variant to use. Reads directories; makes and changes nothing.
#pragma once

#include "environment/catalogue.hpp"

namespace amd_gpu {

/// What is wrong with the path of a definition; empty when nothing is. It must be absolute and hold {target} once;
/// white space is refused because HIP programs fail in such directories, ':' because lists of directories are separated
/// by it.
std::string prefix_path_mistake(std::string_view path);

/// The variants of an environment. A directory may bear a target's name ("gfx90a") or its form for file names
/// ("gfx90a-xnack_off"). One with a ':' in it is found, but unusable: no list of directories can hold it. Of the
/// targets that the definition names, those that are missing are unusable. Sorted by target.
std::vector<variant_candidate> prefix_variants(const environment& of);

/// Whether a directory is there, links followed.
bool is_directory(const std::string& path);

/// Where a variant for this target would lie.
std::string prefix_path(const environment& of, const target_id& target);

} // namespace amd_gpu
