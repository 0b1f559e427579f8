#include "spank/asking.hpp"

namespace amd_gpu {

preparation_request request_for(const request& option, bool by_default) {
    preparation_request asked;
    for (const auto& target : option.targets)
        asked.targets.push_back(target.text());
    asked.environment = option.environment;
    asked.probe = option.probe;
    asked.mask = option.mask;
    asked.bind = option.bind;
    asked.verbose = option.verbose;
    asked.only_with_gpus = by_default && option == request{};
    return asked;
}

} // namespace amd_gpu
