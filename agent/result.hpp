// Errors as values: result<T> holds a T or an error. The agent, the probes and the plugin share this one vocabulary, so
// that no exception is needed across their layers. It owns nothing else and depends on nothing but the standard
// library.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace amd_gpu {

/// What kind of failure an error is. Commands map it to their exit code (see amd-gpu-agent(8), EXIT STATUS).
enum class error_code {
    usage,         ///< the person who typed it can mend it: bad option, unknown name, wrong syntax
    configuration, ///< a site's file is wrong: unknown key, value out of range
    not_found,     ///< a file, a device or a library that should exist does not
    permission,    ///< the kernel said EPERM or EACCES
    timed_out,     ///< a deadline passed
    peer,          ///< the other side of a socket or pipe died or spoke nonsense
    unsupported,   ///< this node, driver or library cannot answer
    internal,      ///< none of the above: a bug or an exhausted resource
};

/// One failure: what went wrong, in words a person can act on.
struct error {
    error_code code = error_code::internal;
    std::string what;

    /// The same error, told from one level further out: "CONTEXT: what".
    [[nodiscard]] error within(const std::string& context) const { return {code, context + ": " + what}; }
};

/// Either a T or an error; `if (!r) return r.failure();` is the way through.
template<typename T>
class [[nodiscard]] result {
  public:
    result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {}
    result(error failure)
        : state_(std::in_place_index<1>, std::move(failure)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    const error& failure() const { return std::get<1>(state_); }

  private:
    std::variant<T, error> state_;
};

/// A result without a value: `return success();` or an error.
struct nothing {};
using status = result<nothing>;
inline status success() {
    return nothing{};
}

} // namespace amd_gpu
