// An agent that does nothing but use images until it is killed.
#pragma once

#include <string>

namespace amd_gpu {

/// Holds and releases the images that a test's server has, for ever, in a cache that has room for one of them. Gives 1
/// when it gets something else than the image, and says what on standard error.
int use_images(const std::string& directory);

} // namespace amd_gpu
