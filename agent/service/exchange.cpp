#include "service/exchange.hpp"

#include "ranges.hpp"

#include <algorithm>

namespace amd_gpu {
namespace {

std::optional<uint32_t> small_number(const message& from, std::string_view key) {
    const auto value = from.get(key);
    return value ? parse_decimal(*value) : std::nullopt;
}

/// Cuts the next word off a text.
std::string_view next_word(std::string_view& text) {
    const auto end = text.find(' ');
    const auto word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    return word;
}

constexpr std::string_view unknown = "-";

std::string or_unknown(const std::string& text) {
    return text.empty() ? std::string(unknown) : text;
}

std::string known(std::string_view word) {
    return word == unknown ? std::string() : std::string(word);
}

std::string number_text(const std::optional<uint32_t>& number) {
    return number ? std::to_string(*number) : std::string(unknown);
}

/// A number or "-"; a word that is neither makes `sound` false. A word that is not there (of an older agent, the last
/// two) is unknown.
std::optional<uint32_t> number_in(std::string_view word, bool& sound) {
    if (word.empty() || word == unknown)
        return std::nullopt;
    const auto number = parse_decimal(word);
    sound = sound && number;
    return number;
}

std::string gcd_text(const granted_gcd& die) {
    return std::to_string(die.index) + " " + number_text(die.slurm_index) + " " + die.bdf + " " +
           or_unknown(die.unique_id) + " " + number_text(die.render_minor) + " " + or_unknown(die.target) + " " +
           or_unknown(ranges_text(die.cores)) + " " + number_text(die.numa) + " " + number_text(die.position);
}

std::optional<granted_gcd> parse_gcd(std::string_view text) {
    granted_gcd die;
    bool sound = true;
    const auto index = parse_decimal(next_word(text));
    die.slurm_index = number_in(next_word(text), sound);
    die.bdf = std::string(next_word(text));
    die.unique_id = known(next_word(text));
    die.render_minor = number_in(next_word(text), sound);
    die.target = known(next_word(text));
    const auto cores_word = next_word(text);
    die.numa = number_in(next_word(text), sound);
    die.position = number_in(next_word(text), sound);
    if (!index || !sound || die.bdf.empty() || cores_word.empty() || !text.empty())
        return std::nullopt;
    die.index = *index;
    const auto cores = known(cores_word);
    if (!cores.empty()) {
        const auto numbers = parse_ranges(cores);
        if (!numbers)
            return std::nullopt;
        die.cores = *numbers;
    }
    return die;
}

/// "/a/b" without ".." parts, so that it lies where it seems to, and without white space, which separates two of them.
bool is_absolute(std::string_view path) {
    return path.starts_with('/') && path.find("/..") == std::string_view::npos &&
           path.find_first_of(" \t\n") == std::string_view::npos;
}

error malformed(std::string_view what) {
    return {error_code::peer, "a message of the agent's socket has a bad or missing field: " + std::string(what)};
}

/// Versions one step apart understand each other, so that a cluster can be upgraded node by node.
status check_version(const message& from) {
    const auto version = small_number(from, "version");
    if (!version)
        return malformed("version");
    if (*version + 1 < protocol_version || *version > protocol_version + 1)
        return error{error_code::peer, "the plugin and the agent are too far apart: protocol " +
                                           std::to_string(*version) + " against " + std::to_string(protocol_version)};
    return success();
}

void add_flag(message& to, std::string_view key, bool value) {
    if (value)
        to.add(key, "1");
}

void add_text(message& to, std::string_view key, const std::string& value) {
    if (!value.empty())
        to.add(key, value);
}

} // namespace

message to_message(const preparation_request& request) {
    message to("prepare");
    to.add("version", std::to_string(protocol_version)).add("job", std::to_string(request.job));
    to.add("uid", std::to_string(request.uid)).add("limit_ms", std::to_string(request.limit_ms));
    if (request.step)
        to.add("step", std::to_string(*request.step));
    if (request.restarts != 0)
        to.add("restarts", std::to_string(request.restarts));
    add_flag(to, "within_allocation", request.within_allocation);
    add_flag(to, "attach_only", request.attach_only);
    if (request.render_minors)
        to.add("render_minors", ranges_text(*request.render_minors));
    add_text(to, "node", request.node);
    add_text(to, "slurm_conf", request.slurm_conf);
    if (request.gpus)
        to.add("gpus", ranges_text(*request.gpus));
    for (const auto& target : request.targets)
        to.add("target", target);
    add_text(to, "environment", request.environment);
    add_text(to, "probe", request.probe);
    add_text(to, "mask", request.mask);
    add_text(to, "bind", request.bind);
    add_flag(to, "verbose", request.verbose);
    add_flag(to, "only_with_gpus", request.only_with_gpus);
    add_flag(to, "by_hand", request.by_hand);
    return to;
}

result<preparation_request> to_request(const message& from) {
    if (const auto fits = check_version(from); !fits)
        return fits.failure();
    preparation_request request;
    const auto job = small_number(from, "job");
    const auto uid = small_number(from, "uid");
    if (!job)
        return malformed("job");
    if (!uid)
        return malformed("uid");
    request.job = *job;
    request.uid = *uid;
    request.limit_ms = small_number(from, "limit_ms").value_or(0);
    if (from.get("step")) {
        request.step = small_number(from, "step");
        if (!request.step)
            return malformed("step");
    }
    request.restarts = small_number(from, "restarts").value_or(0);
    request.within_allocation = from.get("within_allocation").has_value();
    request.attach_only = from.get("attach_only").has_value();
    if (const auto minors = from.get("render_minors")) {
        request.render_minors = parse_ranges(*minors);
        if (!request.render_minors)
            return malformed("render_minors");
    }
    request.node = from.text("node");
    request.slurm_conf = from.text("slurm_conf");
    if (const auto gpus = from.get("gpus")) {
        request.gpus = parse_ranges(*gpus);
        if (!request.gpus)
            return malformed("gpus");
        // Nobody holds a GPU twice, and none is to be probed twice at once.
        std::sort(request.gpus->begin(), request.gpus->end());
        request.gpus->erase(std::unique(request.gpus->begin(), request.gpus->end()), request.gpus->end());
    }
    for (const auto target : from.all("target"))
        request.targets.emplace_back(target);
    request.environment = from.text("environment");
    request.probe = from.text("probe");
    request.mask = from.text("mask");
    request.bind = from.text("bind");
    request.verbose = from.get("verbose").has_value();
    request.only_with_gpus = from.get("only_with_gpus").has_value();
    request.by_hand = from.get("by_hand").has_value();
    return request;
}

message to_message(const preparation_reply& reply) {
    message to("prepared");
    to.add("version", std::to_string(protocol_version)).add("outcome", text_of(reply.how));
    add_text(to, "message", reply.message);
    add_flag(to, "run_anyway", reply.run_anyway);
    add_flag(to, "absent", reply.absent);
    add_flag(to, "fail_prolog", reply.fail_prolog);
    add_text(to, "node", reply.node);
    add_text(to, "mask", reply.mask);
    add_text(to, "bind", reply.bind);
    for (const auto& die : reply.gcds)
        to.add("gcd", gcd_text(die));
    for (const auto& change : reply.edits)
        to.add("edit", change.text());
    for (const auto& one : reply.mounts)
        to.add("mount", one.source + " " + one.target);
    add_text(to, "cache", reply.cache);
    for (const auto& line : reply.report)
        to.add("report", line);
    return to;
}

result<preparation_reply> to_reply(const message& from) {
    if (const auto fits = check_version(from); !fits)
        return fits.failure();
    preparation_reply reply;
    const auto how = parse_outcome(from.text("outcome"));
    if (!how)
        return malformed("outcome");
    reply.how = *how;
    reply.message = from.text("message");
    reply.run_anyway = from.get("run_anyway").has_value();
    reply.absent = from.get("absent").has_value();
    reply.fail_prolog = from.get("fail_prolog").has_value();
    reply.node = from.text("node");
    reply.mask = from.text("mask");
    reply.bind = from.text("bind");
    for (const auto text : from.all("gcd")) {
        auto die = parse_gcd(text);
        if (!die)
            return malformed("gcd");
        reply.gcds.push_back(std::move(*die));
    }
    for (const auto text : from.all("edit")) {
        auto change = edit::parse(text);
        if (!change)
            return change.failure();
        reply.edits.push_back(std::move(*change));
    }
    for (auto text : from.all("mount")) {
        mount_request one;
        one.source = next_word(text);
        one.target = text;
        if (!is_absolute(one.source) || !is_absolute(one.target))
            return malformed("mount");
        reply.mounts.push_back(std::move(one));
    }
    reply.cache = from.text("cache");
    if (!reply.cache.empty() && !is_absolute(reply.cache))
        return malformed("cache");
    for (const auto line : from.all("report"))
        reply.report.emplace_back(line);
    return reply;
}

} // namespace amd_gpu
