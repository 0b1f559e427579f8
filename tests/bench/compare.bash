# compare.bash: taking and printing figures. Runs to be compared alternate, so that a busy machine slows both. Sourced by the
# scripts that measure.
# shellcheck shell=bash
rounds=${BENCH_ROUNDS:-15}

milliseconds() { # of one run of a command
    local begin=$EPOCHREALTIME
    "$@" >/dev/null 2>&1 || { echo "measure: failed: $*" >&2; exit 1; }
    awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f\n", (b - a) * 1000 }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { printf "%.2f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

report() { # NAME OURS PEER PEER_NAME UNIT
    local ratio
    ratio=$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.3f", (b > 0) ? a / b : 0 }')
    printf '%-38s %10s %10s  %-4s %8s   against %s\n' "$1" "$2" "$3" "$5" "$ratio" "$4"
    printf 'json: {"name": "%s", "ours": %s, "peer": %s, "peer_name": "%s", "unit": "%s", "ratio": %s}\n' "$1" "$2" "$3" "$4" "$5" "$ratio"
}

compare() { # NAME PEER_NAME OURS PEER: two functions, alternating
    local i ours='' peer=''
    "$3" >/dev/null 2>&1 && "$4" >/dev/null 2>&1
    for ((i = 0; i < rounds; i++)); do
        ours+=$(milliseconds "$3")$'\n'
        peer+=$(milliseconds "$4")$'\n'
    done
    report "$1" "$(median <<<"${ours%$'\n'}")" "$(median <<<"${peer%$'\n'}")" "$2" ms
}
