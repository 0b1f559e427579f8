# Every model of a simulated node: what its files are made for, `discover` says. One call a model, many facts.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
}

# on MODEL: fills $node with what discover says there.
on() {
    node=$(timeout --kill-after=5 50 "$sim" run --model "$1" --hostname node -- "$agent" discover --json)
}
# expect FILTER: true of $node, or the filter is shown.
expect() {
    jq --exit-status "$1" <<<"$node" >/dev/null || {
        echo "not so: $1"
        jq --compact-output '{sources, findings, gcds: [.gcds[] | {bdf, partition, target, kfd_node}]}' <<<"$node"
        return 1
    }
}
# whole MODEL COUNT TARGET: COUNT GPUs of one TARGET that PCI and KFD agree about, with distinct ids and no partition.
whole() {
    on "$1"
    expect ".sources.pci == $2 and .sources.kfd == $2 and (.gcds | length) == $2"
    expect "[.gcds[].target] | unique == [\"$3\"]"
    expect "([.gcds[].unique_id] | unique | length) == $2 and ([.gcds[].partition] | unique) == [null]"
    expect '[.findings[] | select(.check == "links" or .level == "fault")] == []'
}
# quiet MODEL...: nodes that nothing is to be said of.
quiet() {
    local model
    for model; do
        on "$model"
        expect '.findings == []'
    done
}
# parted MODEL BOARDS EACH MEMORY: EACH partitions on every one of BOARDS functions, with MEMORY bytes.
parted() {
    on "$1"
    # SMI of that age lists each board once, which is a note and no GPU is missing.
    expect "[.findings[] | [.level, .check]] == [[\"note\", \"smi\"]]"
    expect ".sources.smi == $2 and (.findings[0].text | contains(\"it lists $2 boards that KFD shows as $(($2 * $3)) partitions\"))"
    expect ".sources.pci == $2 and .sources.kfd == $2 * $3 and (.gcds | length) == $2 * $3"
    expect "([.gcds[].bdf] | unique | length) == $2 and ([.gcds[].partition] | unique) == [range($3)]"
    expect "([.gcds[].unique_id] | unique | length) == $2 * $3"
    expect "([.gcds[].render_minor] | unique | length) == $2 * $3"
    expect "[.gcds[].memory_bytes] | unique == [$4]"
    expect '[.findings[] | select(.level != "note")] == []'
}

@test "every node of whole GPUs has them all" {
    whole mi100x4 4 gfx908:sramecc+
    whole mi210x2 2 gfx90a:sramecc+
    whole mi210x4 4 gfx90a:sramecc+
    whole mi250x 8 gfx90a:sramecc+
    whole mi300a 4 gfx942:sramecc+
    whole mi300x 8 gfx942:sramecc+
    whole mi355x 8 gfx950:sramecc+
}

# case: PART-1
# case: PART-5
@test "eight partitions on eight boards are 64 GPUs" {
    parted mi300x-cpx-nps4 8 8 25767706624
    # The driver makes all DRM devices of a board at start, so a board's first is every eighth.
    expect '[.gcds[] | select(.partition == 0) | .render_minor] == [range(128; 192; 8)]'
}

# case: PART-3
@test "partitions of one memory domain each show all of it" {
    parted mi300x-dpx 8 2 206141652992
}

# case: PART-2
@test "three partitions a socket in a PCI domain other than 0000" {
    parted mi300a-tpx 4 3 134217728000
    expect '[.gcds[].bdf[0:5]] | unique == ["0001:"]'
}

# case: PART-2
@test "a partition for each compute die of MI300A sits in its own socket" {
    parted mi300a-cpx 4 6 134217728000
    # A socket has the cores 24N to 24N+23 and their second threads, in three L3 caches that two partitions share each.
    expect '[.gcds[] | .numa == (.cores[0] / 24 | floor)] | all'
    expect '[.gcds[] | .cores | length] | unique == [16]'
    expect '[.gcds[] | .cores[]] | unique | length == 192'
}

# case: PART-6
@test "a node half way between two modes has both" {
    on mi300x-mixed
    expect '.sources.pci == 8 and (.gcds | length) == 36'
    expect '[.gcds | group_by(.bdf)[] | length] == [8, 8, 8, 8, 1, 1, 1, 1]'
    expect '[.findings[] | [.level, .check]] == [["warning", "partitions"], ["note", "smi"]]'
    expect '.findings[0].text | contains("CPX/NPS4: 0000:0c:00.0 0000:22:00.0 0000:38:00.0 0000:5c:00.0; SPX/NPS1: 0000:9f:00.0")'
}

@test "nodes that are as they should be say nothing" {
    quiet mi100x4 mi210x2 mi210x4 mi250x mi300a mi300x mi355x
    quiet mi250x-kfd-gap mi250x-foreign-card0 mi250x-memory-only-numa no-gpu
    on mi250x
    expect '.versions.driver | endswith(" (DKMS)")'
}

# case: PART-4
@test "the card of a second partition is no PCI device" {
    run "$sim" run --model mi300x-dpx --hostname node -- readlink -f /sys/class/drm/renderD129/device /sys/class/drm/renderD129
    [[ ${lines[0]} == *amdgpu_xcp.0 ]]
    [[ ${lines[1]} == *platform/amdgpu_xcp.0/drm/renderD129 ]]
    run "$sim" run --model mi300x-dpx --hostname node -- \
        sh -c 'ls /dev/dri | wc -l; cat /sys/class/drm/card[0-7]/device/current_*_partition; ls /sys/class/drm/card1/device/vendor'
    [ "${lines[0]}" -eq 128 ]
    [ "${lines[1]} ${lines[2]}" = 'DPX NPS1' ]
    [[ ${lines[3]} == *'No such file'* ]]
}

# case: ARCH-13
# case: MIX-2
@test "GPUs of other makers and kinds beside ours" {
    on hetero
    expect '.sources.pci == 3 and .sources.kfd == 3'
    expect '[.gcds[].target] == ["gfx90a:sramecc+", "gfx90a:sramecc+", "gfx1030"]'
    expect '[.findings[] | [.level, .check]] == [["note", "targets"]]'
    expect '.findings[0].text | contains("gfx1030: 0000:c3:00.0; gfx90a:sramecc+: 0000:43:00.0 0000:a3:00.0")'
    on ryzen
    expect '[.gcds[].target] == ["gfx1100"]'
    expect '[.findings[] | [.level, .check]] == [["warning", "locality"], ["note", "integrated"]]'
}

# case: APU-1 APU-2
@test "an APU has the memory that KFD shows, whatever the driver calls its own" {
    for model in mi300a-no-vram mi300a-carveout; do
        whole "$model" 4 gfx942:sramecc+
        expect '[.gcds[].memory_bytes] | unique == [134217728000]'
    done
}

# case: RSMI-2
@test "a virtual function has no id and no sensors" {
    on mi300x-vf
    expect '.sources.kfd == 1 and .gcds[0].unique_id == null'
    expect '[.findings[] | [.level, .check]] == [["note", "virtual_function"]]'
}

# case: MISS-1 MISS-4
@test "a node without a driver and one where it took nothing" {
    on mi250x-no-driver
    expect '.sources.pci == 8 and .sources.kfd == null and .versions.driver == null'
    expect '[.findings[] | [.level, .check, .bdf]] == [["fault", "driver", null]]'
    expect '.findings[0].text | test("^8 GPUs on PCI, 0 bound: the driver amdgpu is not loaded for kernel .*: 0000:c1:00.0 .* 0000:de:00.0; install")'
    for model in mi250x-unbound mi300x-unbound; do
        on "$model"
        expect '.sources.pci == 8 and .sources.kfd == 0'
        expect '[.findings[] | [.level, .check, .bdf]] == [["fault", "driver", null]]'
        expect '.findings[0].text | test("^8 GPUs on PCI, 0 bound: the driver amdgpu .* is loaded, but drives none of them: .*; see the kernel log, power cycle")'
    done
    on mi250x-gcd-missing
    expect '[.findings[] | [.level, .check, .bdf]] == [["fault", "gpu_count", "0000:ce:00.0"]]'
}

# what MODEL FACTS: the GCDs of MODEL agree about model, kind, dies' modes and who shares their memory.
what() {
    on "$1"
    expect "[.gcds[] | [.model, .kind, .compute_partition, .memory_partition, .memory_shared_by]] | unique == [$2]"
}

# case: RSMI-4
# case: PART-1
# case: PART-3
# case: APU-1
@test "models, kinds, modes and shared memory" {
    what mi100x4 '["MI100", "gpu", null, null, 1]'
    what mi210x4 '["MI210", "gpu", null, null, 1]'
    what mi250x '["MI250X", "gpu", null, null, 1]'
    what mi300a '["MI300A", "apu", "SPX", "NPS1", 1]'
    what mi300a-cpx '["MI300A", "apu", "CPX", "NPS1", 6]'
    what mi300a-carveout '["MI300A", "apu", "SPX", "NPS1", 1]'
    what mi300x-dpx '["MI300X", "gpu", "DPX", "NPS1", 2]'
    what mi300x-cpx-nps4 '["MI300X", "gpu", "CPX", "NPS4", 1]'
    what mi300x-vf '["MI300X", "vf", null, null, 1]'
    what mi355x '["MI355X", "gpu", "SPX", "NPS1", 1]'
}

@test "every fact that is known says where it comes from" {
    for model in mi250x mi300a-cpx mi300x-vf hetero; do
        node=$(timeout --kill-after=5 50 "$sim" run --model "$model" -- "$agent" discover --json --explain)
        expect '[.gcds[] | .sources as $from | del(.gcd, .bdf, .bound, .sources) | to_entries[]
                 | select(.value != null and .value != {}) | select($from[.key] == null) | .key] | unique == []'
    done
}

# case: RSMI-5
@test "packages are counted by product and links" {
    for model in mi250x=0,0,1,1,2,2,3,3 mi210x4=0,1,2,3 mi300a=0,1,2,3 mi300x-vf=null hetero=0,1,2; do
        on "${model%=*}"
        expect "[.gcds[].package] == [${model#*=}]"
    done
    on mi300x-dpx
    expect '[.gcds[] | .package * 2 + .partition] == [range(16)]'
}

# case: ARCH-2
# case: APU-4
@test "the xnack mode of processes follows the processor and the driver's parameter" {
    for model in mi250x mi300a mi355x; do
        on "$model"
        expect '[.gcds[] | [.xnack, .xnack_selectable]] | unique == [[false, true]]'
    done
    on hetero
    expect '.gcds[2] | [.xnack, .xnack_selectable] == [null, false]'
    printf '%s\n' 'base = "mi210x2"' 'description = "retries on"' '[files]' \
        '"sys/module/amdgpu/parameters/noretry" = "0"' >"$BATS_TEST_TMPDIR/retry.toml"
    on "$BATS_TEST_TMPDIR/retry.toml"
    expect '[.gcds[].xnack] | unique == [true]'
}

# case: TOPO-1
@test "every GCD of an MI250X node has the L3 cache that sites publish" {
    on mi250x
    expect '[.gcds[] | .cores[0]] == [48, 56, 16, 24, 0, 8, 32, 40]'
    expect '[.gcds[] | .cores[8] - .cores[0]] | unique == [64]'
    expect '[.gcds[].numa] == [3, 3, 1, 1, 0, 0, 2, 2]'
}

# case: TOPO-5
@test "a GPU whose NUMA node is -1 has no place" {
    on mi250x-no-numa
    expect '[.gcds[] | .numa, .cores] | unique == [null]'
    expect '[.findings[] | select(.check == "locality")] | length == 1'
}

# case: TOPO-6
@test "numbers with gaps and NUMA nodes without CPUs lose no GPU" {
    for model in mi250x-card-gap mi250x-kfd-gap mi250x-foreign-card0 mi250x-memory-only-numa; do
        whole "$model" 8 gfx90a:sramecc+
    done
    on mi250x-no-numa
    expect '.sources.kfd == 8 and ([.findings[] | [.level, .check]] == [["warning", "locality"]])'
    expect '[.gcds[].cores] | unique == [null]'
    on mi250x-no-ids
    expect '.sources.kfd == 8 and ([.gcds[].unique_id] | unique) == [null]'
    expect '[.findings[] | [.level, .check]] == [["note", "identity"]]'
}

@test "a model file of one's own starts from any model" {
    printf '%s\n' 'base = "mi210x2"' 'description = "one GPU less"' 'faults = ["missing gcd=1"]' \
        >"$BATS_TEST_TMPDIR/own.toml"
    on "$BATS_TEST_TMPDIR/own.toml"
    expect '.sources.pci == 2 and .sources.kfd == 1'
    run "$sim" run --model "$BATS_TEST_TMPDIR/none.toml" -- true
    [ "$status" -eq 125 ]
}
