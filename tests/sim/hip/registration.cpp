// The process's entry in KFD's proc directory.
#include "registration.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim::hip {
namespace {

namespace fs = std::filesystem;

constexpr const char* processes = "/sys/class/kfd/kfd/proc";
constexpr long most_pids = 4194304; ///< PID_MAX_LIMIT: a larger number is no process of ours but part of the model

void put(const fs::path& path, const std::string& text) {
    std::ofstream(path) << text << '\n';
}

void remove_entry(const fs::path& entry) {
    std::error_code ignored;
    fs::remove_all(entry, ignored);
}

void remove_dead() {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(processes, ignored)) {
        const long pid = std::atol(entry.path().filename().c_str());
        if (pid > 0 && pid < most_pids && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)
            remove_entry(entry.path());
    }
}

/// A process that a signal kills cannot tidy up, and the kernel that would do it here is a directory of files. So a
/// small process waits for the other end of a pipe to vanish and then removes the entry. It is nobody's child: a
/// program that waits for its children never meets it.
void remove_after_death(const std::string& directory) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    const pid_t middle = fork();
    if (middle == 0) {
        if (fork() != 0)
            _exit(0);
        setsid();
        prctl(PR_SET_NAME, "kfd-release");
        for (const int ignored : {SIGTERM, SIGINT, SIGHUP, SIGPIPE})
            std::signal(ignored, SIG_IGN);
        if (ends[0] != 3)
            dup2(ends[0], 3);
        syscall(SYS_close_range, 4U, ~0U, 0U);
        for (const int standard : {0, 1, 2})
            ::close(standard);
        char byte;
        while (read(3, &byte, 1) < 0 && errno == EINTR) {
        }
        remove_entry(directory);
        _exit(0);
    }
    ::close(ends[0]);
    if (middle < 0)
        ::close(ends[1]);
    while (middle > 0 && waitpid(middle, nullptr, 0) < 0 && errno == EINTR) {
    }
}

} // namespace

void registration::open(const std::vector<gpu>& gpus) {
    remove_dead();
    std::error_code failed;
    const fs::path own = fs::path(processes) / std::to_string(getpid());
    remove_entry(own);
    if (!fs::create_directory(own, failed) || failed)
        return;
    directory_ = own;
    put(own / "pasid", std::to_string(32768 + getpid() % 32768));
    fs::create_directory(own / "queues", failed);
    for (const gpu& device : gpus) {
        const std::string id = std::to_string(device.gpu_id);
        put(own / ("vram_" + id), "0");
        put(own / ("sdma_" + id), "0");
        fs::create_directory(own / ("stats_" + id), failed);
        put(own / ("stats_" + id) / "cu_occupancy", "0");
        put(own / ("stats_" + id) / "evicted_ms", "0");
    }
    remove_after_death(directory_);
}

void registration::set_memory(std::uint64_t gpu_id, std::uint64_t bytes) const {
    if (!directory_.empty())
        put(fs::path(directory_) / ("vram_" + std::to_string(gpu_id)), std::to_string(bytes));
}

void registration::add_queue(std::uint64_t gpu_id) const {
    if (directory_.empty())
        return;
    std::error_code failed;
    const fs::path queues = fs::path(directory_) / "queues";
    int number = 0;
    while (fs::exists(queues / std::to_string(number), failed))
        ++number;
    const fs::path queue = queues / std::to_string(number);
    fs::create_directory(queue, failed);
    put(queue / "gpuid", std::to_string(gpu_id));
    put(queue / "type", "2"); // KFD_QUEUE_TYPE_COMPUTE_AQL
    put(queue / "size", "65536");
}

void registration::close() {
    if (!directory_.empty())
        remove_entry(directory_);
    directory_.clear();
}

} // namespace sim::hip
