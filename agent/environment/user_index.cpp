// A user's own index. Root touches nothing below a user's home (it may lie on a file system that maps root to nobody,
// hang, or hold links to anywhere): a child reads it as this user, and what it says is checked as a stranger's word.
#include "configuration/settings.hpp"
#include "environment/variant_index.hpp"
#include "system/files.hpp"
#include "system/process.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace amd_gpu {

namespace {

using nlohmann::json;

constexpr std::size_t most_records = 64; // of one environment of one user
constexpr auto longest_reading = std::chrono::seconds(5);

/// One record of the child's answer, if it may be used. A user's software lies where the user can read it; an image
/// would have to be mounted by root, and for nobody but the site does root mount anything.
variant_candidate checked(const json& text, const std::string& name) {
    variant_candidate one;
    const result<variant> record = text.is_string() ? parse_record(text.get_ref<const std::string&>())
                                                    : error{error_code::configuration, "no text"};
    if (!record)
        one.unusable = record.failure().what;
    else if (record->environment != name)
        one.unusable = "is a variant of another environment";
    else if (record->kept == storage::blob)
        one.unusable = "a user's own variant cannot be an image";
    if (record)
        one.found = *record;
    return one;
}

} // namespace

result<std::string> user_index_of(const settings& site, uid_t user) {
    if (site.user_index.empty())
        return error{error_code::usage, "this site lets users have no environments of their own (env=FILE)"};
    const result<account> who = account_of(user);
    if (!who)
        return who.failure();
    return replaced(replaced(site.user_index, "{home}", who->home), "{user}", who->name);
}

result<std::vector<variant_candidate>> user_variants(const settings& site, uid_t user, const std::string& name,
                                                     deadline until) {
    const result<std::string> directory = user_index_of(site, user);
    if (!directory)
        return directory.failure();
    const result<account> who = account_of(user);
    if (!who)
        return who.failure();
    const result<identity> as = identity_of(who->name);
    if (!as)
        return as.failure();
    command reader;
    reader.arguments = {"/proc/self/exe", "read-index", *directory, name};
    reader.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
    if (::geteuid() == 0)
        reader.as = *as;
    reader.output_limit = most_records * (longest_record / 16);
    const result<child_result> child = run(reader, until.at_most(longest_reading));
    if (!child)
        return child.failure();
    const std::string place = "your index of environments, " + *directory;
    if (child->how != child_result::ending::exited)
        return error{error_code::timed_out, fmt::format("reading {} {}", place, child->text())};
    if (child->code != 0)
        return error{error_code::usage, place + ": " + std::string(trimmed(child->diagnostics.substr(0, 300)))};
    const json answer = json::parse(child->output, nullptr, /*allow_exceptions=*/false);
    if (!answer.is_array() || answer.size() > most_records)
        return error{error_code::usage,
                     fmt::format("{} holds more than {} variants of this file", place, most_records)};
    std::vector<variant_candidate> all;
    for (const json& text : answer)
        all.push_back(checked(text, name));
    return all;
}

} // namespace amd_gpu
