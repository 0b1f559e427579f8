// Catch2's main, compiled once. Images are mounted by a child that is the running program again, so that the tests are
// one, too; and it is what gets killed while it uses images.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "environment/blob_mount.hpp"
#include "use_images.hpp"

#include <string_view>

int main(int count, char** words) {
    if (count == 4 && std::string_view(words[1]) == "mount-blob")
        return amd_gpu::mount_blob_child(words[2], words[3]);
    if (count == 3 && std::string_view(words[1]) == "mount-blob")
        return amd_gpu::unmount_blob_child(words[2]);
    if (count == 3 && std::string_view(words[1]) == "use-images")
        return amd_gpu::use_images(words[2]);
    return Catch::Session().run(count, words);
}
