// How the view of a simulated node is put together (see sandbox.hpp).
#include "tests/sim/node/sandbox.hpp"

#include "tests/sim/node/identity.hpp"
#include "tests/sim/node/mounts.hpp"
#include "tests/sim/node/tree.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace sim {
namespace {

/// Where the node keeps what belongs to the simulation; the fixed paths below it are a contract with the simulated HIP
/// runtime and the preload library.
const std::string home = "/run/amd-gpu-sim";

/// Mount points of the v1 controllers that Slurm uses.
constexpr const char* controllers[] = {"devices", "freezer", "cpuset", "memory"};

/// More than are in use at once on a machine that runs tests.
constexpr unsigned loop_devices = 64;

constexpr const char* real_hip = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5";

/// Runs step after step and keeps the first failure.
class steps {
  public:
    template<typename F>
    steps& then(F&& step) {
        if (outcome_) {
            outcome_ = step();
        }
        return *this;
    }
    [[nodiscard]] const status& outcome() const { return outcome_; }

  private:
    status outcome_ = success();
};

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

status leave_host(const sandbox& plan) {
    const int flags = CLONE_NEWNS | (plan.hostname.empty() ? 0 : CLONE_NEWUTS);
    if (unshare(flags) != 0) {
        return system_error("cannot make a mount namespace");
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
        return system_error("cannot make the mounts private");
    }
    if (!plan.hostname.empty() && sethostname(plan.hostname.c_str(), plan.hostname.size()) != 0) {
        return system_error("cannot set the host name " + plan.hostname);
    }
    return success();
}

/// The fixed paths of the simulation.
status furnish_home(const sandbox& plan, const node_view& node) {
    tree out("/run");
    const std::string base = home.substr(5) + "/";
    out.put(base + "model.toml", node.model);
    out.put(base + "faults", plan.faults);
    out.line(base + "cpus", std::to_string(node.cpus.empty() ? 0 : node.cpus.back() + 1));
    out.directory(base + "affinity"); // the preload library keeps masks here, for processes of every user
    out.mode(base + "affinity", 0777);
    out.directory(base + "sys");
    out.directory(base + "dev");
    const auto library = [&](const std::string& name, const std::string& contents) {
        if (!contents.empty()) {
            out.put(base + "lib/" + name, contents);
            out.mode(base + "lib/" + name, 0755);
        }
    };
    library("preload.so", plan.preload);
    library("libamdhip64.so.5", plan.hip);
    return out.outcome();
}

status make_device(const std::string& path, unsigned bits, unsigned major_number, unsigned minor_number,
                   unsigned kind = S_IFCHR) {
    std::error_code ignored; // a failure to make the directory shows in mknod
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    if (mknod(path.c_str(), kind | bits, makedev(major_number, minor_number)) != 0 ||
        chmod(path.c_str(), bits) != 0) { // chmod because of the umask
        return system_error("cannot make the device " + path);
    }
    return success();
}

/// /dev as a fresh machine has it, with the node's GPUs. Never made in the real /dev: devtmpfs is one for all
/// namespaces.
status furnish_dev(const node_view& node) {
    const std::string dev = home + "/dev";
    steps all;
    all.then([&] { return mount_tmpfs(dev, "mode=755"); });
    struct device {
        const char* name;
        unsigned major_number, minor_number;
    };
    for (const device& d : {device{"null", 1, 3},
                            {"zero", 1, 5},
                            {"full", 1, 7},
                            {"random", 1, 8},
                            {"urandom", 1, 9},
                            {"tty", 5, 0},
                            {"ptmx", 5, 2},
                            {"fuse", 10, 229}}) {
        all.then([&] { return make_device(dev + "/" + d.name, 0666, d.major_number, d.minor_number); });
    }
    // The host's, which numbers them for all nodes: a node that mounts an image may get any of them.
    all.then([&] { return make_device(dev + "/loop-control", 0600, 10, 237); });
    for (unsigned number = 0; number < loop_devices; ++number) {
        all.then([&] { return make_device(dev + "/loop" + std::to_string(number), 0600, 7, number, S_IFBLK); });
    }
    if (node.kfd) {
        all.then([&] { return make_device(dev + "/kfd", 0666, kfd_major, 0); });
    }
    for (const std::string& name : node.drm) {
        const auto number = name.find_first_of("0123456789");
        const auto minor_number = static_cast<unsigned>(std::stoul(name.substr(number)));
        const unsigned bits = name.rfind("render", 0) == 0 ? 0666 : 0660;
        all.then([&] { return make_device(dev + "/dri/" + name, bits, drm_major, minor_number); });
    }
    for (const char* shared : {"pts", "mqueue"}) {
        const std::string source = std::string("/dev/") + shared;
        if (std::filesystem::is_directory(source)) {
            all.then([&] { return make_mount_point(source, dev + "/" + shared); });
            all.then([&] { return sim::bind(source, dev + "/" + shared); });
        }
    }
    all.then([&] {
        tree out(dev);
        out.directory("shm");
        return out.outcome();
    });
    all.then([&] { return mount_tmpfs(dev + "/shm", "mode=1777"); });
    const std::pair<const char*, const char*> links[] = {{"/proc/self/fd", "fd"},
                                                         {"/proc/self/fd/0", "stdin"},
                                                         {"/proc/self/fd/1", "stdout"},
                                                         {"/proc/self/fd/2", "stderr"},
                                                         {"/run/systemd/journal/dev-log", "log"}};
    for (const auto& [target, name] : links) {
        all.then([&] {
            const std::string path = dev + "/" + name;
            return symlink(target, path.c_str()) == 0 ? success() : status(system_error("cannot make " + path));
        });
    }
    return all.outcome();
}

/// Makes DIR in the v1 controller C and, as a cpuset without CPUs takes no process, fills each level of it.
status make_cgroup(const std::string& controller, const std::string& directory) {
    std::string at = "/sys/fs/cgroup/" + controller;
    if (!std::filesystem::is_directory(at)) {
        return error{error_code::unsupported, "--cgroup-root needs the cgroup v1 controller " + controller};
    }
    std::string above = at;
    for (const std::filesystem::path& level : std::filesystem::path(directory).relative_path()) {
        at += "/" + level.string();
        if (mkdir(at.c_str(), 0755) != 0 && errno != EEXIST) {
            return system_error("cannot make the control group " + at);
        }
        for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
            if (controller == "cpuset" && read_file(at + file).find_first_not_of("\n") == std::string::npos) {
                std::ofstream(at + file) << read_file(above + file);
            }
        }
        above = at;
    }
    return success();
}

/// The host's control groups at their place in the node's /sys: all of them, or the subtree of each v1 controller.
status furnish_cgroups(const std::string& root) {
    const std::string real = "/sys/fs/cgroup";
    const std::string here = home + "/sys/fs/cgroup";
    if (root.empty()) {
        return std::filesystem::is_directory(real) ? sim::bind(real, here) : success();
    }
    steps all;
    all.then([&] { return mount_tmpfs(here, "mode=755"); });
    for (const char* controller : controllers) {
        const std::string subtree = real + "/" + controller + "/" + root;
        all.then([&] { return make_cgroup(controller, root); });
        all.then([&] { return make_mount_point(subtree, here + "/" + controller); });
        all.then([&] { return sim::bind(subtree, here + "/" + controller); });
    }
    return all.outcome();
}

/// Covers the files in which the cpuset controller names the host's CPUs and NUMA nodes: hwloc takes them for the
/// limits of the machine and would see no CPU of the model that the host lacks.
status widen_cpuset(const node_view& node, const std::string& cgroup_root) {
    std::string path; // of this process in the hierarchy
    std::ifstream table("/proc/self/cgroup");
    for (std::string line; std::getline(table, line);) {
        if (const std::size_t at = line.find(":cpuset:"); at != std::string::npos) {
            path = cgroup_root.empty() ? line.substr(at + 8) : "";
        }
    }
    tree out(home);
    out.line("cpuset/cpus", cpu_list(node.cpus));
    out.line("cpuset/mems", cpu_list(node.numa));
    steps all;
    all.then([&] { return out.outcome(); });
    for (const auto& [file, text] : {std::pair{"cpuset.cpus", "cpus"},
                                     {"cpuset.effective_cpus", "cpus"},
                                     {"cpuset.mems", "mems"},
                                     {"cpuset.effective_mems", "mems"}}) {
        const std::string target = home + "/sys/fs/cgroup/cpuset" + path + "/" + file;
        if (std::filesystem::exists(target)) {
            all.then([&] { return sim::bind(home + "/cpuset/" + text, target); });
        }
    }
    return all.outcome();
}

status furnish_sys(const sandbox& plan, const node_view& node) {
    steps all;
    all.then([&] { return mount_tmpfs(home + "/sys", "mode=755"); });
    all.then([&] { return node.write(home); });
    all.then([&] { return furnish_cgroups(plan.cgroup_root); });
    all.then([&] { return widen_cpuset(node, plan.cgroup_root); });
    return all.outcome();
}

status furnish_proc() {
    steps all;
    for (const char* file : {"/proc/cpuinfo", "/proc/meminfo", "/proc/modules", "/proc/sys/kernel/osrelease"}) {
        // A kernel without modules has no list of them.
        if (std::filesystem::exists(file) && std::filesystem::exists(home + file)) {
            all.then([&] { return sim::bind(home + file, file); });
        }
    }
    return all.outcome();
}

/// Libraries take the place of the real ones: HIP at the path that ld.so and dlopen find, the preload library by name.
status furnish_libraries(const sandbox& plan) {
    steps all;
    if (!plan.preload.empty()) {
        all.then([&] {
            const std::string line = home + "/lib/preload.so\n";
            if (read_file("/etc/ld.so.preload").find(line) == std::string::npos) { // a node within a node has it
                std::ofstream("/etc/ld.so.preload", std::ios::app) << line;
            }
            return std::filesystem::exists("/etc/ld.so.preload") ? success()
                                                                 : status(system_error("cannot write ld.so.preload"));
        });
    }
    char real[PATH_MAX];
    if (!plan.hip.empty() && realpath(real_hip, real) != nullptr) {
        all.then([&] { return sim::bind(home + "/lib/libamdhip64.so.5", real); });
    }
    return all.outcome();
}

status furnish_binds(const sandbox& plan) {
    steps all;
    for (const auto& [source, target] : plan.binds) {
        // Only where the node has its own files may a place be made for it.
        if (target.rfind("/run/", 0) == 0 || target.rfind("/etc/", 0) == 0) {
            all.then([&] { return make_mount_point(source, target); });
        }
        all.then([&] { return sim::bind(source, target); });
    }
    return all.outcome();
}

} // namespace

status enter(const sandbox& plan, const node_view& node) {
    if (geteuid() != 0) {
        return error{error_code::permission,
                     "this must run as root: a simulated node is a mount namespace with device nodes of its own"};
    }
    steps all;
    all.then([&] { return leave_host(plan); });
    all.then([&] { return cover_with_private_copy("/run", home.substr(5)); });
    all.then([&] { return furnish_home(plan, node); });
    all.then([&] { return cover_with_overlay("/etc", home + "/etc"); });
    all.then([&] { return furnish_dev(node); });
    all.then([&] { return furnish_sys(plan, node); });
    all.then([&] { return furnish_proc(); });
    all.then([&] { return furnish_libraries(plan); });
    all.then([&] { return furnish_binds(plan); });
    all.then([&] { return move_mount_to(home + "/dev", "/dev"); });
    all.then([&] { return move_mount_to(home + "/sys", "/sys"); }); // last: it hides the host's control groups
    return all.outcome();
}

} // namespace sim
