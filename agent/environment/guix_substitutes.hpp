// Whether substitute servers have what Guix would build. A hint for people who plan: nobody checks a signature here,
// and what is really fetched is Guix's own business.
#pragma once

#include "environment/provider.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace amd_gpu {

/// Gets the text at an address.
using text_reader = std::function<result<std::string>(const std::string& url, deadline until)>;

/// The first output of a derivation, "/gnu/store/...": the file begins with Derive([("out","PATH",...
/// Empty: it is none.
std::string derivation_output(std::string_view text);

/// What the servers say of these store items, a line each: how many they have and their size, or that a server does not
/// answer. One that does not is asked once, however many items there are; all of them together may take until `until`.
std::vector<std::string> substitutes_hint(const std::vector<std::string>& servers,
                                          const std::vector<std::string>& items, deadline until,
                                          const text_reader& read);

} // namespace amd_gpu
