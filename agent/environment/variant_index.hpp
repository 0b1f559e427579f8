// An index of variants: a directory of records, DIRECTORY/v1/ENVIRONMENT/NAME.json, on a shared file system or on the
// node. One is the site's; each user may have one of their own, which counts for that user's jobs alone.
#pragma once

#include "environment/catalogue.hpp"
#include "system/deadline.hpp"

#include <sys/types.h>

namespace amd_gpu {

struct settings;

/// A record that was found, or a file that is none.
struct index_entry {
    std::string file;
    variant record;
    std::string problem;     ///< why the file counts for nothing; empty when it is good
    bool superseded = false; ///< a newer good one is for the same targets
};

/// Reads the records of one environment, or of all when `environment` is empty; sorted, newest first among equals. A
/// record counts only if it, and the directories around it, belong to `owner` and nobody else may write them, and if it
/// is a variant of the environment whose directory it lies in. No directory: none. Errors: unreadable.
result<std::vector<index_entry>> read_index(const std::string& directory, const std::string& environment, uid_t owner);

/// Writes a record, in one step. Gives the file.
result<std::string> add_to_index(const std::string& directory, const variant& record);

/// Of each set of targets the newest good record, as candidates.
std::vector<variant_candidate> candidates_of(const std::vector<index_entry>& entries);

/// Why the files of a variant are not where its record says; empty when they are, or when they have yet to be fetched.
std::string place_problem(const variant& what);

/// The name of a record's file: targets, key and time of making; no two variants share one.
std::string record_name(const variant& record);

/// The variants of an environment of the site, from its index: of each set of targets the newest.
result<std::vector<variant_candidate>> indexed_variants(const settings& site, const environment& of);

/// Where a user's own index lies. Error (usage): the site lets users have none; (not_found): no such user.
result<std::string> user_index_of(const settings& site, uid_t user);

/// The variants of a user's own environment ("sha256:..."), read by a child that runs as this user, in the time that is
/// left, and checked as what a stranger wrote. Errors (usage): the site lets users have none; the user has none.
result<std::vector<variant_candidate>> user_variants(const settings& site, uid_t user, const std::string& name,
                                                     deadline until);

} // namespace amd_gpu
