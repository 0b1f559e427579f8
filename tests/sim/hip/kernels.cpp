// The registry of kernels and their costs.
#include "kernels.hpp"

#include <tuple>
#include <utility>

#include "probes/kernels/kernels.hip"

namespace sim::hip {
namespace {

template<typename... A, std::size_t... I>
std::tuple<A...> unpack(void** arguments, std::index_sequence<I...> /*positions*/) {
    return {*static_cast<A*>(arguments[I])...};
}

/// Calls KERNEL for every thread of the grid; as a template argument it is inlined into the loop.
template<auto kernel, typename... A>
bound_kernel bind_typed(void** arguments, work (*cost)(A...), void (* /*kernel*/)(A...)) {
    const auto values = unpack<A...>(arguments, std::index_sequence_for<A...>{});
    return {[values](std::uint32_t blocks, std::uint32_t threads) {
                for (std::uint32_t block = 0; block < blocks; ++block)
                    for (std::uint32_t thread = 0; thread < threads; ++thread) {
                        here = {block, thread};
                        std::apply(kernel, values);
                    }
            },
            std::apply(cost, values)};
}

template<auto kernel, auto cost>
bound_kernel bind(void** arguments) {
    return bind_typed<kernel>(arguments, cost, kernel);
}

double bytes_of(std::uint64_t quads) {
    return static_cast<double>(quads * sizeof(quad));
}

work writes(quad* memory, std::uint64_t quads, std::uint64_t /*seed*/, std::uint32_t /*blocks*/) {
    return {nullptr, 0, memory, bytes_of(quads), 0};
}

work reads(const quad* memory, std::uint64_t quads, std::uint64_t /*seed*/, std::uint32_t /*blocks*/,
           verification* /*outcome*/) {
    return {memory, bytes_of(quads), nullptr, 0, 0};
}

work copies(quad* destination, const quad* source, std::uint64_t quads, std::uint32_t /*blocks*/) {
    return {source, bytes_of(quads), destination, bytes_of(quads), 0};
}

/// The state is small enough for the L2 cache, so it costs no time; its bytes say where the results are.
work multiplies(double* state, std::uint64_t /*seed*/, std::uint32_t steps, std::uint32_t blocks,
                std::uint32_t /*resume*/) {
    const double chains = static_cast<double>(blocks) * block_size * chains_per_thread;
    return {nullptr, 0, state, chains * sizeof(double), 4 * chains * steps, true};
}

constexpr kernel kernels[] = {
    {"copy_fill", "", bind<copy_fill, writes>},
    {"copy_verify", "", bind<copy_verify, reads>},
    {"fma64", "fma64", bind<fma64, multiplies>},
    {"hbm_copy", "hbm_copy", bind<hbm_copy, copies>},
    {"link_copy", "links", bind<link_copy, copies>},
    {"pattern_verify", "", bind<pattern_verify, reads>},
    {"pattern_write", "pattern", bind<pattern_write, writes>},
};

} // namespace

const kernel* find_kernel(std::string_view name) {
    for (const kernel& known : kernels)
        if (known.name == name)
            return &known;
    return nullptr;
}

} // namespace sim::hip
