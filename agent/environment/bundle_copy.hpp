// The copy of a tree's index on this node: the very bytes that were verified, with their signature, and when.
#pragma once

#include "environment/bundle_index.hpp"
#include "system/deadline.hpp"
#include "system/file_lock.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

/// index.json and index.json.minisig as they came.
struct signed_index {
    std::string content;
    std::string signature;
};

/// Verifies and reads it. Errors (peer): the signature, or the index.
result<bundle_index> read_signed(const signed_index& from, const std::vector<std::string>& keys);

/// One tree's copy in the state directory. Processes and threads take turns.
class index_copy {
  public:
    /// `directory`: of all copies; `first_url`: of the tree, by which it is known whatever its other mirrors and keys.
    index_copy(const std::string& directory, const std::string& first_url);

    /// Waits for its turn. Not to be written, as for a user at the command line: false, and save() does nothing.
    /// Error (timed_out).
    result<bool> take_turn(deadline until);
    /// Reads what is there; nothing is no failure.
    void load();
    /// Writes what is held, each file in one step.
    status save() const;

    signed_index last;    ///< empty: none yet
    uint64_t highest = 0; ///< version seen ever
    int64_t checked = 0;  ///< when the server last gave a good answer, seconds since 1970
    int64_t tried = 0;    ///< when it was last asked

  private:
    std::string base_;
    std::optional<file_lock> lock_;
};

} // namespace amd_gpu
