# daemon.bash: starting a long-lived process of the cluster. Sourced by the commands in bin/.
# shellcheck shell=bash

# Starts a command in the background with a clean environment and no descriptor of the caller (a test runner waits until
# nobody holds its own), its output appended to a log; its process id is in $!. daemon LOG COMMAND...
daemon() {
    local log=$1
    shift
    (
        for descriptor in /proc/self/fd/*; do
            descriptor=${descriptor##*/}
            ((descriptor <= 2)) || eval "exec $descriptor>&-"
        done
        exec env --ignore-environment PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
    ) >>"$log" 2>&1 </dev/null &
}
