# within.bash: waiting with a deadline, for the harness, its commands and the tests. Sourced.
# shellcheck shell=bash

# Repeats a command until it succeeds, for at most so many seconds: within SECONDS COMMAND...
within() {
    local deadline=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@"; do
        (($(date +%s%N) < deadline)) || return 1
        sleep 0.05
    done
}
