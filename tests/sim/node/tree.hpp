// A tree of small files that is being written. It owns the root directory's handle and the first failure, so that
// writers can put file after file and ask once at the end. It must not follow anything outside its root.
#pragma once

#include "result.hpp"

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace sim {

class tree {
  public:
    /// ROOT must be an existing directory.
    explicit tree(const std::string& root);
    ~tree();
    tree(const tree&) = delete;
    tree& operator=(const tree&) = delete;

    /// Writes PATH (relative to the root) with TEXT, whole directories above it included; replaces what is there.
    void put(const std::string& path, std::string_view text);
    /// Like put, with the newline that the kernel ends its attribute files with.
    void line(const std::string& path, std::string text);
    /// Makes PATH a relative symbolic link to TARGET, which is a path in the tree too.
    void link(const std::string& path, const std::string& target);
    /// Makes the directory PATH and those above it.
    void directory(const std::string& path);
    /// Sets the mode of PATH.
    void mode(const std::string& path, unsigned bits);
    /// Removes PATH and all below it.
    void remove(const std::string& path);

    /// The first failure of all calls so far.
    [[nodiscard]] amd_gpu::status outcome() const;

  private:
    void fail(const std::string& path, const std::string& doing);

    std::string root_;
    int handle_;
    std::string failure_;
    std::unordered_set<std::string> made_; ///< directories that exist already
};

/// VALUE in hexadecimal with at least DIGITS digits, without 0x.
std::string hex(unsigned long long value, int digits);

/// CPUS as Linux prints a list ("0-3,8") and as a mask of BITS bits ("00000000,0000000f").
std::string cpu_list(std::vector<int> cpus);
std::string cpu_mask(const std::vector<int>& cpus, int bits);

} // namespace sim
