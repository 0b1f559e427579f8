// What discovery says of a small tree, for tests that look at its findings.
#pragma once

#include "discovery/discover.hpp"
#include "sysfs_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// A reader that lists GPUs at these ids (partition << 28 | bus << 8 | device << 3 | function), in this order.
inline std::vector<std::string> listing(const std::vector<unsigned long>& ids) {
    std::string devices;
    for (std::size_t i = 0; i < ids.size(); ++i)
        devices += fmt::format(R"({}{{"index":{},"id":{}}})", i > 0 ? "," : "", i, ids[i]);
    return {"/bin/echo", R"({"version":"1.0.0","devices":[)" + devices + "]}"};
}

/// The two GPUs of two_dies.
inline const std::vector<std::string> both = listing({0xc100, 0xc600});

inline amd_gpu::node look(const sysfs_tree& tree, const std::vector<std::string>& reader = both,
                          std::optional<uint32_t> expected = {}) {
    amd_gpu::settings site;
    site.expected_gcds = expected;
    auto found = amd_gpu::discover(site, amd_gpu::deadline::in(std::chrono::seconds(5)), tree.where(), reader);
    REQUIRE(found);
    // Where the GPUs sit is asked of the machine that runs the test, which has none.
    std::erase_if(found->findings, [](const amd_gpu::finding& f) { return f.check == "locality"; });
    return *found;
}

/// The first finding of a check, or null.
inline const amd_gpu::finding* find(const std::vector<amd_gpu::finding>& findings, const std::string& check) {
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const amd_gpu::finding& f) { return f.check == check; });
    return found == findings.end() ? nullptr : &*found;
}
inline const amd_gpu::finding* find(const amd_gpu::node& where, const std::string& check) {
    return find(where.findings, check);
}

inline bool says(const amd_gpu::finding* f, const std::string& part) {
    UNSCOPED_INFO("finding: " << (f == nullptr ? "none" : f->text));
    return f != nullptr && f->text.find(part) != std::string::npos;
}

} // namespace test
