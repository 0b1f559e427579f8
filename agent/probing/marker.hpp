// Markers on disk that say which GCDs are being probed. A probe can take the whole node down; the marker that is then
// left over tells the next boot, so that the same probe does not do it again by itself.
#pragma once

#include "node/node.hpp"
#include "result.hpp"

#include <string>
#include <vector>

namespace amd_gpu {

class probe_markers {
  public:
    /// `directory`: where markers lie, on a disk that outlives a reboot. `boot`: the kernel's id of the present boot.
    probe_markers(std::string directory, std::string boot)
        : directory_(std::move(directory))
        , boot_(std::move(boot)) {}

    /// Marks GCDs as being probed, on disk before it returns.
    [[nodiscard]] status set(const std::vector<gcd_id>& bdfs) const;
    /// Takes the marks away. Also how an administrator acknowledges those of an earlier boot.
    void clear(const std::vector<gcd_id>& bdfs) const;
    /// Takes all marks of this boot away: for an agent that starts and probes nothing yet.
    void clear_own() const;
    /// The GCDs whose probe an earlier boot did not finish.
    [[nodiscard]] std::vector<gcd_id> unfinished(const std::vector<gcd_id>& bdfs) const;

  private:
    [[nodiscard]] std::string path(const gcd_id& bdf) const;

    std::string directory_;
    std::string boot_;
};

} // namespace amd_gpu
