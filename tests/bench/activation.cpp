// activation SOCKET GPUS OPTION: the median time in milliseconds that an activation costs a job: the prolog's question,
// the first step's, and the changes to that step's environment, which are made by the plugin's own code. Each round is
// a job of its own. slurmstepd's side of SPANK, a list that is searched from its start, is reproduced here.
#include "ranges.hpp"
#include "service/client.hpp"
#include "service/exchange.hpp"
#include "spank/asking.hpp"
#include "spank/option.hpp"
#include "spank/task_environment.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::string> task;

std::vector<std::string>::iterator find(const char* name) {
    const std::size_t length = std::strlen(name);
    return std::find_if(task.begin(), task.end(), [&](const std::string& entry) {
        return entry.compare(0, length, name) == 0 && entry.size() > length && entry[length] == '=';
    });
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

int fail(const std::string& why) {
    std::fprintf(stderr, "activation: %s\n", why.c_str());
    return 1;
}

} // namespace

extern "C" {
slurm_err_t spank_getenv(spank_t /*spank*/, const char* name, char* buffer, int length) {
    const auto entry = find(name);
    if (entry == task.end())
        return slurm_err_t(ESPANK_ENV_NOEXIST);
    const auto value = entry->substr(std::strlen(name) + 1);
    if (value.size() >= static_cast<std::size_t>(length))
        return slurm_err_t(ESPANK_NOSPACE);
    std::memcpy(buffer, value.c_str(), value.size() + 1);
    return slurm_err_t(ESPANK_SUCCESS);
}

slurm_err_t spank_setenv(spank_t /*spank*/, const char* name, const char* value, int /*overwrite*/) {
    auto text = std::string(name) + "=" + value;
    if (const auto entry = find(name); entry != task.end())
        *entry = std::move(text);
    else
        task.push_back(std::move(text));
    return slurm_err_t(ESPANK_SUCCESS);
}

slurm_err_t spank_unsetenv(spank_t /*spank*/, const char* name) {
    if (const auto entry = find(name); entry != task.end())
        task.erase(entry);
    return slurm_err_t(ESPANK_SUCCESS);
}
}

int main(int argc, char** argv) {
    using namespace amd_gpu;
    if (argc != 4)
        return 2;
    const auto option = parse_request(argv[3]);
    if (!option)
        return fail(option.failure().what);
    preparation_request asked = request_for(*option);
    asked.gpus = parse_ranges(argv[2]);
    asked.node = "n0";
    asked.limit_ms = 10000;
    asked.by_hand = true;

    std::vector<double> times;
    std::size_t changes = 0;
    for (uint32_t round = 0; round < 101; ++round) {
        asked.job = 900000 + round;
        task = {"PATH=/usr/bin:/bin", "HOME=/root"};
        const auto begin = std::chrono::steady_clock::now();
        for (const auto step : {std::optional<uint32_t>{}, std::optional<uint32_t>{0}}) {
            asked.step = step;
            const auto answered = ask(argv[1], to_message(asked), deadline::in(std::chrono::seconds(10)));
            if (!answered)
                return fail(answered.failure().what);
            const auto reply = to_reply(*answered);
            if (!reply)
                return fail(std::string(answered->text("message")));
            if (reply->how != outcome::ready)
                return fail(reply->message);
            if (step && !apply_to_task(nullptr, reply->edits).empty())
                return fail("a variable could not be changed");
            changes = reply->edits.size();
        }
        times.push_back(milliseconds_since(begin));
        message release("release");
        release.add("job", std::to_string(asked.job));
        if (const auto released = ask(argv[1], release, deadline::in(std::chrono::seconds(5))); !released)
            return fail(released.failure().what);
    }
    if (changes < 300)
        return fail("only " + std::to_string(changes) + " changes: this is not the environment of 300 variables");
    std::nth_element(times.begin(), times.begin() + 50, times.end());
    std::printf("%.2f\n", times[50]);
}
