// Environments put to use: from a name and a set of devices to a variant that is local to this node and the edits that
// activate it. What can be kept between jobs is kept; what a user's own index says is asked anew for each job.
#pragma once

#include "configuration/settings.hpp"
#include "environment/blob_cache.hpp"
#include "service/single_flight.hpp"
#include "service/slots.hpp"

#include <sys/types.h>

namespace amd_gpu {

/// A variant that is ready on this node.
struct activated {
    resolution choice; ///< `chosen.path` is where it lies here
    std::vector<edit> edits;
};

/// Who asks for what.
struct activation_request {
    std::string environment; ///< a name of the catalogue, or "sha256:..." for an environment of the user's own
    uid_t user = 0;
    uint32_t job = 0; ///< holds the image, until release()
    std::vector<target_id> devices;
};

class activations {
  public:
    explicit activations(const settings& site);

    /// Errors (usage): the user's to mend; all others are the site's.
    result<std::shared_ptr<const activated>> activate(const activation_request& wanted, deadline until,
                                                      const progress& say);
    /// Cleans up after an agent that ended: images on this node that no job holds any more.
    status recover(deadline until);
    /// Forgets what a job held.
    void release(uint32_t job);
    /// How often one was really made.
    [[nodiscard]] unsigned made() const;

  private:
    result<std::shared_ptr<const activated>> of_site(const activation_request& wanted, deadline until,
                                                     const progress& say);
    result<std::shared_ptr<const activated>> of_user(const activation_request& wanted, deadline until);

    const settings& site_;
    blob_cache blobs_;
    single_flight<resolution> chosen_;
    single_flight<activated> activated_;
    slots user_slots_;
    std::atomic<unsigned> of_users_ = 0;
};

} // namespace amd_gpu
