# One simulated node: that the real libraries and our own commands believe it, and that what changes in the model or in the
# fault file changes what they say.

setup() {
    root=$BATS_TEST_DIRNAME/../..
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    cat >"$BATS_TEST_TMPDIR/config.toml" <<TEXT
[probe]
gcd_bytes = "16MiB"
link_bytes = "4MiB"
floors_directory = "$root/etc/floors"
TEXT
}

# on MODEL COMMAND...: runs a command on a node; FAULTS may hold fault lines.
on() {
    local model=$1
    shift
    printf '%s\n' "${FAULTS-}" >"$BATS_TEST_TMPDIR/faults"
    timeout --kill-after=5 50 "$sim" run --model "$model" --faults "$BATS_TEST_TMPDIR/faults" --hostname node -- "$@"
}
ours() {
    local model=$1
    shift
    on "$model" "$agent" --config "$BATS_TEST_TMPDIR/config.toml" "$@"
}

@test "every model is discovered" {
    for model in $("$sim" models); do
        run ours "$model" discover --json
        jq --exit-status '.schema and (.gcds | type == "array")' <<<"$output"
    done
}

@test "the eight GCDs of an MI250X node are found by all three sources" {
    run ours mi250x discover --json
    [ "$status" -eq 0 ]
    jq --exit-status '.sources == {pci: 8, kfd: 8, smi: 8} and (.gcds | length == 8) and .findings == []' <<<"$output"
    [ "$(jq --raw-output '[.gcds[].target] | unique[]' <<<"$output")" = 'gfx90a:sramecc+' ]
    [ "$(jq '[.gcds[].package] | unique | length' <<<"$output")" -eq 4 ]
}

@test "a GCD without driver is told by name" {
    FAULTS='missing gcd=3' run ours mi250x discover --json
    jq --exit-status '.sources.pci == 8 and .sources.kfd == 7' <<<"$output"
    [[ $(jq --raw-output '.findings | tostring' <<<"$output") == *0000:ce:00.0* ]]
}

@test "a node without GPUs is no error" {
    run ours no-gpu discover --json
    [ "$status" -eq 0 ]
    jq --exit-status '.gcds == []' <<<"$output"
}

@test "a changed link table changes what discover prints" {
    ours mi250x discover --topology >"$BATS_TEST_TMPDIR/before"
    FAULTS='link gcd=0 to=1 scale=0' ours mi250x discover --topology >"$BATS_TEST_TMPDIR/after"
    [ -s "$BATS_TEST_TMPDIR/before" ]
    ! cmp -s "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after" || false
}

@test "a changed fault file changes what a probe measures" {
    ours mi250x probe --json >"$BATS_TEST_TMPDIR/well" || true
    FAULTS='hbm gcd=3 scale=0.5' ours mi250x probe --json >"$BATS_TEST_TMPDIR/slow" || true
    figure() { jq '[.[] | select(.gcd == 3 and .probe == "hbm_copy") | .measured] | max' "$1"; }
    well=$(figure "$BATS_TEST_TMPDIR/well")
    slow=$(figure "$BATS_TEST_TMPDIR/slow")
    awk -v well="$well" -v slow="$slow" 'BEGIN { exit !(well > 1000 && slow > 0.45 * well && slow < 0.55 * well) }'
}

@test "hwloc's own tool sees the GPUs, too" {
    command -v lstopo-no-graphics >/dev/null || skip 'hwloc is not installed'
    run on mi250x lstopo-no-graphics --of console --whole-io
    [ "$status" -eq 0 ]
    [ "$(grep -c 'Display' <<<"$output")" -ge 8 ]
}

@test "a malformed fault file is an error with its line" {
    FAULTS=$'# fine\nhbm gcd=banana' run on mi250x true
    [ "$status" -eq 125 ]
    [[ $output == *:2:* ]]
}

@test "a node that ends leaves no mount and no file" {
    before=$(wc -l </proc/self/mountinfo)
    on mi250x true
    [ "$(wc -l </proc/self/mountinfo)" -eq "$before" ]
    [ ! -e /run/amd-gpu-sim ]
    [ ! -e /sys/class/kfd ] || skip 'this machine has GPUs of its own'
}
