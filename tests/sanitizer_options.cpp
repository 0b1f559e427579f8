// What the sanitizers are told in programs that are built with them. Children start from a clean environment, so that
// variables would not reach them; and on a simulated node another library is loaded before the sanitizers' own.
extern "C" {
#pragma GCC visibility push(default)
const char* __asan_default_options();
const char* __tsan_default_options();
const char* __ubsan_default_options();
#pragma GCC visibility pop
}

const char* __asan_default_options() {
    return "verify_asan_link_order=0:detect_leaks=1";
}

const char* __tsan_default_options() {
    return "halt_on_error=1";
}

const char* __ubsan_default_options() {
    return "print_stacktrace=1";
}
