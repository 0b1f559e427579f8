// Which provider answers for an environment.
#include "environment/provider.hpp"

#include "configuration/settings.hpp"
#include "environment/bundle.hpp"
#include "environment/command_provider.hpp"
#include "environment/guix.hpp"
#include "environment/prefix.hpp"
#include "environment/variant_index.hpp"

namespace amd_gpu {

result<std::vector<variant_candidate>> variants_of(const settings& site, const environment& of, deadline until,
                                                   const progress& say) {
    if (of.provider == "prefix")
        return prefix_variants(of);
    if (of.provider == "guix" || of.provider == "command")
        return indexed_variants(site, of);
    if (of.provider == "bundle")
        return bundle_variants(site, of, until, say);
    return error{error_code::unsupported, "the provider " + of.provider + " cannot be used yet"};
}

result<std::unique_ptr<realiser>> make_realiser(const settings& site, const environment& of) {
    if (of.provider == "guix")
        return guix_realiser(site, of);
    if (of.provider == "command")
        return command_realiser(site, of);
    if (of.provider == "bundle")
        return error{error_code::unsupported,
                     "the images of environment " + of.name +
                         " are made where their web server's tree lies: amd-gpu-agent bundle add TREE " + of.name +
                         " --targets T --from DIRECTORY --key FILE"};
    if (of.provider == "prefix")
        return error{error_code::unsupported, "environment " + of.name + " lies on disk: whatever is in " + of.path +
                                                  " is used, and nothing has to be realised"};
    return error{error_code::unsupported, "the provider " + of.provider + " cannot realise variants yet"};
}

std::string_view name_of(realise_plan::need what) {
    switch (what) {
    case realise_plan::need::ready:
        return "ready";
    case realise_plan::need::fetch:
        return "fetch";
    case realise_plan::need::build:
        return "build";
    case realise_plan::need::unsupported:
        break;
    }
    return "unsupported";
}

} // namespace amd_gpu
