# What makes the real librocm_smi64 (5.2.3) fail or abort must cost nothing but what that library alone knows: `discover`
# asks it in a child, and everything that PCI and KFD say stays. Each input is put into a node's files just before.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    p=/sys/bus/pci/devices/0000:c1:00.0
    k=/sys/devices/virtual/kfd/kfd
    cat >"$BATS_TEST_TMPDIR/call.py" <<'TEXT'
import ctypes, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
smi = ctypes.CDLL("librocm_smi64.so.1")
started = smi.rsmi_init(ctypes.c_uint64(0))
if started != 0 or len(sys.argv) == 1:
    sys.exit(started)
out = ctypes.create_string_buffer(65536)
words = {"out": out, "null": None, "size": ctypes.byref(ctypes.c_uint32(16))}
arguments = [words[word] if word in words else ctypes.c_uint32(int(word)) for word in sys.argv[2:]]
sys.exit(min(getattr(smi, sys.argv[1])(*arguments), 100))
TEXT
    command -v python3 >/dev/null && python3 -c 'import ctypes; ctypes.CDLL("librocm_smi64.so.1")' 2>/dev/null ||
        skip 'librocm_smi64.so.1 or python3 is not installed'
}

# with CHANGE [FUNCTION ARGUMENT...]: makes the change on a node; fills $node with what discover says and $called with
# the exit status of a direct use of the library (134: aborted).
with() {
    local change=$1
    shift
    timeout --kill-after=5 50 "$sim" run --model mi250x --hostname node -- sh -c '
        eval "$1"; agent=$2; out=$3; call=$4; shift 4
        "$agent" discover --json >"$out/node" 2>"$out/errors"
        echo $? >"$out/rc"
        python3 "$call" "$@" >/dev/null 2>&1
        echo $? >"$out/called"' sh "$change" "$agent" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/call.py" "$@" \
        2>"$BATS_TEST_TMPDIR/shell"
    node=$(<"$BATS_TEST_TMPDIR/node")
    called=$(<"$BATS_TEST_TMPDIR/called")
    echo "$change: library $called, discover $(<"$BATS_TEST_TMPDIR/rc")"
    jq --compact-output '[.sources, .findings]' <<<"$node"
    [ "$(<"$BATS_TEST_TMPDIR/rc")" -eq 0 ]
}
expect() {
    jq --exit-status "$1" <<<"$node" >/dev/null
}
# All that PCI and KFD know is there.
others_whole() {
    expect '.sources.pci == 8 and .sources.kfd == 8 and ([.gcds[] | select(.unique_id != null and .target != null)] | length) == 8'
}
# The library gave nothing, and a finding says so.
smi_silent() {
    others_whole
    expect '.sources.smi == null and ([.gcds[].smi_index] | unique) == [null]'
    expect '[.findings[] | select(.text | test("smi"; "i"))] | length > 0'
}

# case: INIT-1
@test "a library that cannot start" {
    with 'rm -r /sys/class/drm'
    [ "$called" -eq 8 ]
    smi_silent
    with "echo hbm >\$(echo $p/hwmon/hwmon*)/temp3_label"
    [ "$called" -eq 8 ]
    smi_silent
    with "rm $p/hwmon/hwmon*/in0_label"
    [ "$called" -eq 8 ]
    smi_silent
    with "sed -i /hive_id/d $k/topology/nodes/4/properties"
    [ "$called" -eq 8 ]
    smi_silent
    # A node that does not say where it is costs KFD's facts of that GPU, too, and is named.
    with "sed -i /^domain/d $k/topology/nodes/4/properties"
    [ "$called" -eq 8 ]
    expect '.sources == {pci: 8, kfd: 7, smi: null} and ([.findings[].check] | contains(["gpu_count", "smi", "kfd"]))'
    # Without KFD there is nothing to ask the library for.
    with 'rm -r /sys/class/kfd'
    [ "$called" -eq 8 ]
    expect '.sources == {pci: 8, kfd: null, smi: null} and (.findings[0].text | contains("offers no KFD"))'
}

# case: INIT-5
@test "a library that aborts while it starts" {
    with "rm -r $k/topology/nodes/0/io_links"
    [ "$called" -eq 134 ]
    smi_silent
    with "rm /sys/class/drm/card0; mkdir /sys/class/drm/card0; ln -s $p /sys/class/drm/card0/device"
    [ "$called" -eq 134 ]
    smi_silent
}

# discover makes none of these calls, so that nothing is missing.
# case: RSMI-9
@test "a library that aborts in calls that discover does not make" {
    while IFS='|' read -r change call; do
        with "$change" $call
        [ "$called" -eq 134 ] || [ "$called" -eq 139 ]
        others_whole
        expect '.sources.smi == 8'
    done <<TEXT
rm -r $p/hwmon|rsmi_dev_temp_metric_get 0 0 0 out
rm -r $k/topology/nodes/4/p2p_links|rsmi_is_P2P_accessible 0 1 out
printf 'ue: 0\nce: 0\nde: 0\n' >$p/ras/umc_err_count|rsmi_dev_ecc_count_get 0 1 out
echo Query currently inaccessible >$p/ras/umc_err_count|rsmi_dev_ecc_count_get 0 1 out
echo '0x00000001 : 0x00001000 : X' >$p/ras/gpu_vram_bad_pages|rsmi_dev_memory_reserved_pages_get 0 size out
echo 7 >$p/xgmi_error|rsmi_dev_xgmi_error_status 0 out
printf '\\170\\000\\001\\004' 1<>$p/gpu_metrics|rsmi_dev_gpu_metrics_info_get 0 out
mkdir $k/proc/word|rsmi_compute_process_info_get null out
mkdir $k/proc/77; echo word >$k/proc/77/pasid|rsmi_compute_process_info_get out size
sed -i 's/^type 11/type 2/' $k/topology/nodes/4/io_links/1/properties|rsmi_topo_get_link_type 0 1 out out
rm $p/df_cntr_avail|rsmi_counter_available_counters_get 0 0 out
mkdir -p $k/proc/77/queues/0; echo 1 >$k/proc/77/queues/0/gpuid|rsmi_compute_process_gpus_get 77 out size
TEXT
}
