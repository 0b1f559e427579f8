# The map of ranks on every model, from what discovery really finds there.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    : >"$BATS_TEST_TMPDIR/config.toml"
}
map() { timeout --kill-after=5 50 "$sim" run --model "$1" --hostname node -- "$agent" --config "$BATS_TEST_TMPDIR/config.toml" discover --ranks "$2"; }

# case: TOPO-1
@test "eight ranks of an MI250X node, and with the first core of each L3 kept" {
    run map mi250x 8
    [ "$(awk 'NR > 1 { print $3 }' <<<"$output" | xargs)" = '4 5 2 3 6 7 0 1' ]
    [[ ${lines[1]} == '0     node  4    0000:d1:00.0  0     0-7,64-71' ]]
    printf '[job]\nreserved_cores = "0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120"\n' >"$BATS_TEST_TMPDIR/config.toml"
    run map mi250x 8
    [ "$(awk 'NR > 1 { print $6 }' <<<"$output" | xargs)" = \
        '1-7,65-71 9-15,73-79 17-23,81-87 25-31,89-95 33-39,97-103 41-47,105-111 49-55,113-119 57-63,121-127' ]
}

# case: PART-2
@test "MI300A in six partitions a board: 24 ranks on 24 devices, six in each socket" {
    run map mi300a-cpx 24
    [ "$(awk 'NR > 1 { print $4 }' <<<"$output" | sort -u | wc -l)" -eq 24 ]
    [ "$(awk 'NR > 1 { print substr($4, 6, 2), $5 }' <<<"$output" | sort | uniq -c | awk '{ print $1, $2, $3 }' | xargs)" = \
        '6 02 0 6 42 1 6 82 2 6 c2 3' ]
}

@test "on every model as many ranks as GPUs get one each, and CPUs of their own where places are known" {
    for model in $("$sim" models); do
        [[ $model != no-gpu ]] || continue
        gpus=$(map "$model" 1 | tail -n +2 | awk '{ print ($1 ~ /^0$/ && $2 == "node") ? $4 : $2 }' | sort -u | wc -l)
        run map "$model" "$gpus"
        echo "$model: $gpus"$'\n'"$output"
        [ "$status" -eq 0 ]
        [ "$(awk 'NR > 1 { print $4 }' <<<"$output" | sort -u | wc -l)" -eq "$(grep -c node <<<"${output#*$'\n'}")" ]
        # No CPU list is given to two ranks.
        [ -z "$(awk 'NR > 1 && $6 != "-" { print $6 }' <<<"$output" | sort | uniq -d)" ]
    done
}
