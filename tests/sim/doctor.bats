# doctor on simulated nodes: what it finds wrong when something is, and that it finds nothing when nothing is.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    printf '[slurm]\nscontrol = "/bin/false"\n' >"$BATS_TEST_TMPDIR/config.toml"
}

# on MODEL COMMAND...: runs a command on a node.
on() {
    local model=$1
    shift
    timeout --kill-after=5 50 "$sim" run --model "$model" --hostname node -- "$@"
}
doctor() {
    on "$1" "$agent" --config "$BATS_TEST_TMPDIR/config.toml" doctor --json
}
# state CHECK: the state of a check in $output.
state() {
    jq -r --arg check "$1" '.[] | select(.check == $check) | .state' <<<"$output"
}

# case: INIT-6
@test "doctor finds nothing wrong on a node that is right, but for a daemon that is not there" {
    run doctor mi250x
    [ "$status" -eq 1 ]
    [ "$(state agent)" = wrong ]
    [ "$(jq '[.[] | select(.state == "wrong" or .state == "warning")] | length' <<<"$output")" -eq 1 ]
    for check in gpus driver kfd rights smi hip xnack; do
        [ "$(state $check)" = ok ]
    done
    [ "$(state slurm)" = unknown ]
}

# case: VIS-6 ARCH-11
@test "doctor tells what HIP lists with this process's variables from what it lists without" {
    run on mi250x env ROCR_VISIBLE_DEVICES=1,3 HSA_OVERRIDE_GFX_VERSION_1=10.3.0 HSA_XNACK=1 \
        "$agent" --config "$BATS_TEST_TMPDIR/config.toml" doctor
    [[ $output == *'lists 2 GPUs, variables hide 6'* ]]
    [[ $output == *'HSA_OVERRIDE_GFX_VERSION_1=10.3.0 hides what the GPUs are (really gfx90a)'* ]]
    [[ $output == *'processes run as gfx90a:sramecc+:xnack'* ]]
    run on mi250x env ROCR_VISIBLE_DEVICES= "$agent" --config "$BATS_TEST_TMPDIR/config.toml" doctor
    [ "$status" -eq 1 ]
    [[ $output == *'without this process'"'"'s variables it lists 8'* ]]
}

# case: INIT-4
@test "doctor tells of a HIP runtime that this process cannot load and of two in its path" {
    mkdir -p "$BATS_TEST_TMPDIR"/{old,new}
    touch "$BATS_TEST_TMPDIR"/{old,new}/libamdhip64.so.{7,6,5}
    run on mi250x env LD_LIBRARY_PATH="$BATS_TEST_TMPDIR/old:$BATS_TEST_TMPDIR/new" \
        "$agent" --config "$BATS_TEST_TMPDIR/config.toml" doctor
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'libamdhip64 of more than one ROCm'* ]]
    [[ $output == *'without this process'"'"'s variables it lists 8'* ]]
}

# case: MISS-1
@test "doctor names the GCD that its driver does not drive" {
    run doctor mi250x-gcd-missing
    [ "$status" -eq 1 ]
    [ "$(state driver)" = wrong ]
    [[ $output == *"amdgpu does not drive 0000:ce:00.0"* ]]
}

# case: INIT-3
@test "doctor is quiet on a host without GPUs" {
    run doctor no-gpu
    [ "$status" -eq 0 ]
    [ "$(state gpus)" = ok ]
    [ "$(state rights)" = skipped ]
    [[ $output != *xception* ]]
}

# case: VIS-11 VIS-12
@test "doctor tells an unprivileged user which file keeps it out, and asks nothing of card files" {
    local try="chmod 0666 /dev/kfd /dev/dri/render*
        chmod 0600 /dev/dri/card* 2>/dev/null
        setpriv --reuid=65534 --regid=65534 --clear-groups \"\$@\" doctor --json >/dev/null; echo open \$?
        chmod 0600 /dev/dri/renderD130
        setpriv --reuid=65534 --regid=65534 --clear-groups \"\$@\" doctor; echo closed \$?"
    cp "$agent" "$BATS_TEST_TMPDIR/agent"
    run on mi250x sh -c "$try" sh "$BATS_TEST_TMPDIR/agent"
    [[ $output == *"open 0"* ]]
    [[ $output == *"closed 1"* ]]
    [[ $output == *"/dev/dri/renderD130: mode 0600, root:"* ]]
}
