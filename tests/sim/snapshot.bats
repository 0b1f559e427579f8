# Snapshots: an archive of a node's files shows the same node again, to discovery and to other programs.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    export agent
    cd "$BATS_TEST_TMPDIR"
}

# on MODEL COMMAND...: runs a command on a node of a model.
on() { timeout --kill-after=5 50 "$sim" run --model "$1" --hostname node -- "${@:2}"; }
# again ARCHIVE COMMAND...: runs a command on the node of a snapshot.
again() { timeout --kill-after=5 50 "$sim" run --snapshot "$1" -- "${@:2}"; }

@test "a snapshot shows discovery the same node again" {
    for model in mi250x mi300x-cpx-nps4 hetero mi250x-gcd-missing; do
        on "$model" sh -c '"$agent" discover --json >before && "$agent" snapshot -o archive'
        again archive "$agent" discover --json >after
        diff before after
        [ "$(jq '.gcds | length' after)" -gt 0 ]
    done
}

@test "with hidden serials only ids and the host's name differ" {
    on mi250x sh -c '"$agent" discover --json >before && "$agent" snapshot -o archive --hide-serials'
    again archive "$agent" discover --json >after
    alike='del(.node, .gcds[].unique_id, .gcds[].hive)'
    diff <(jq "$alike" before) <(jq "$alike" after)
    [ "$(jq '[.gcds[].unique_id] | unique | length' after)" -eq 8 ]
    [ "$(jq '[.gcds[].hive] | unique | length' after)" -eq 1 ]
    [ "$(jq '[.gcds[] | .unique_id, .hive] - [null]' before after | jq -s 'add | unique | length')" -eq 18 ]
    # Neither in hexadecimal nor in decimal, under any name.
    mkdir hidden && tar -xzf archive -C hidden
    on mi250x sh -c 'cat /sys/bus/pci/devices/*/unique_id /sys/bus/pci/devices/*/serial_number;
        grep -hE "^(unique|hive)_id [1-9]" /sys/class/kfd/kfd/topology/nodes/*/properties' >ids
    [ "$(wc -l <ids)" -eq 32 ]
    run grep -rFf <(awk '{ print $NF }' ids) hidden
    [ "$status" -eq 1 ]
    [ "$(jq -c '[.host, .serials_hidden, .unreadable]' hidden/snapshot.json)" = '[null,true,[]]' ]
}

@test "rocm-smi and lstopo see the same node again" {
    command -v rocm-smi lstopo-no-graphics >/dev/null || skip 'rocm-smi or hwloc is not installed'
    cat >look <<'END'
rocm-smi --showtopo --showuniqueid --showmeminfo vram --showtemp >$1.smi 2>&1
HWLOC_COMPONENTS=-x86 lstopo-no-graphics --of console -v >$1.topology
END
    on mi250x sh -c '"$agent" snapshot -o archive && sh look before' || [ $? -eq 2 ]
    again archive sh look after || [ $? -eq 2 ]
    diff before.smi after.smi
    grep -q 'Unique ID: 0x' after.smi
    # Network cards are there as PCI functions alone: their addresses are not taken.
    diff <(grep -vE 'Network L|Special depth -6' before.topology) after.topology
    grep -q 'Package L#0' after.topology
}

@test "a snapshot goes to standard output, too, and a file of it is its owner's alone" {
    on no-gpu "$agent" snapshot -o - | tar -tzf - >names
    grep -qx snapshot.json names
    grep -qx node/sys/devices/system/cpu/online names
    on no-gpu "$agent" snapshot -o archive
    [ "$(stat --format=%a archive)" = 600 ]
    run on no-gpu "$agent" snapshot -o /nowhere/archive
    [ "$status" -ne 0 ]
}

@test "what is no snapshot, or reaches out of one, is refused" {
    mkdir -p node/sys && echo 0-3 >node/sys/file && echo '{"schema": 1}' >snapshot.json
    tar -czPf climbing --transform='s|node/sys/file|node/../../file|' snapshot.json node/sys/file
    ln -s /etc node/sys/link && tar -czf linked snapshot.json node
    tar -czf headless node/sys/file
    echo nonsense >nonsense
    for archive in climbing linked headless nonsense missing; do
        run again "$archive" true
        echo "$output"
        [ "$status" -eq 125 ]
        [[ $output == "amd-gpu-sim: "*"$archive"* ]]
    done
    run "$sim" run --model mi250x --snapshot climbing -- true
    [ "$status" -eq 125 ]
}
