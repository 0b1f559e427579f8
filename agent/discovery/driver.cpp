#include "discovery/driver.hpp"

#include "system/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace amd_gpu {
namespace {

std::string module_directory(const sysfs& where) {
    return where.sys + "/module/amdgpu";
}

} // namespace

std::optional<std::string> driver_state::text() const {
    if (!loaded.value_or(false))
        return std::nullopt;
    // Only the package's driver sets MODULE_VERSION, and with it this file (Linux kernel/module/sysfs.c). What others
    // print in its place is the kernel's banner, which is no version of the driver.
    if (version)
        return *version + " (DKMS)";
    return kernel.empty() ? "in-tree" : "in-tree, kernel " + kernel;
}

driver_state read_driver(const sysfs& where) {
    driver_state found;
    found.kernel = read_line(where.proc + "/sys/kernel/osrelease").value_or("");
    const std::string module = module_directory(where);
    if (::access((where.sys + "/module").c_str(), R_OK | X_OK) == 0)
        found.loaded = ::access(module.c_str(), F_OK) == 0;
    found.version = read_line(module + "/version");
    return found;
}

std::optional<uint64_t> driver_instance(const sysfs& where) {
    // Times in sysfs are those of the first look at a file and change when the kernel forgets it. A directory's inode
    // number is given when it is made and lasts as long as it does (Linux fs/kernfs/dir.c, idr_alloc_cyclic).
    struct stat module = {};
    if (::stat(module_directory(where).c_str(), &module) != 0)
        return std::nullopt;
    return module.st_ino;
}

} // namespace amd_gpu
