# Libraries in the place of librocm_smi64 that are broken as real ones have been, each on a healthy node: discover says
# so in one line, and PCI and KFD stay whole. They are made here, so that each fails in its own way and no other.

setup_file() {
    cat >"$BATS_FILE_TMPDIR/smi.c" <<'TEXT'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifndef COUNT
#define COUNT 8
#endif
static const uint64_t ids[8] = {0xc100, 0xc600, 0xc900, 0xce00, 0xd100, 0xd600, 0xd900, 0xde00};
uint32_t rsmi_init(uint64_t flags) {
    (void)flags;
    puts("WARNING: Unlocked monitor_devices lock");
    fflush(stdout);
    INIT;
}
uint32_t rsmi_status_string(uint32_t status, const char** text) {
    *text = status == 16 ? "RSMI_STATUS_BUSY: A resource or mutex could not be acquired" : "RSMI_STATUS_OTHER";
    return 0;
}
uint32_t rsmi_num_monitor_devices(uint32_t* count) { *count = COUNT; return 0; }
#ifndef NO_IDS
uint32_t rsmi_dev_pci_id_get(uint32_t index, uint64_t* id) { *id = ids[index]; return 0; }
#endif
TEXT
}

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    command -v cc >/dev/null || skip 'there is no C compiler'
}

# with INIT [OPTION...]: a library whose rsmi_init is INIT, and what discover says with it.
with() {
    cc -shared -fPIC -o "$BATS_TEST_TMPDIR/librocm_smi64.so" "-DINIT=$1" "${@:2}" "$BATS_FILE_TMPDIR/smi.c"
    look
}
look() {
    printf '[discovery]\nsmi_library = "%s"\ndeadline = 4\n' "$BATS_TEST_TMPDIR/librocm_smi64.so" \
        >"$BATS_TEST_TMPDIR/config.toml"
    before=$SECONDS
    node=$(timeout --kill-after=5 50 "$sim" run --model mi250x --hostname node -- sh -c "${prepare:-true}; exec \"\$@\"" sh \
        "$agent" --config "$BATS_TEST_TMPDIR/config.toml" discover --json)
    took=$((SECONDS - before))
    jq --compact-output '[.sources, .findings]' <<<"$node"
    jq --exit-status '.sources.pci == 8 and .sources.kfd == 8 and ([.gcds[] | select(.bound and .target != null)] | length) == 8' \
        <<<"$node" >/dev/null
}
# silent LEVEL TEXT: the library gave nothing, which is unknown and not zero, and the one finding holds TEXT.
silent() {
    jq --exit-status --arg level "$1" --arg text "$2" '.sources.smi == null and ([.gcds[].smi_index] | unique) == [null]
        and ([.findings[] | [.level, .check]] == [[$level, "smi"]]) and (.findings[0].text | contains($text))' \
        <<<"$node" >/dev/null
}

# case: INIT-3
# case: RSMI-14
@test "what a library prints is no part of the answer" {
    with 'return 0'
    jq --exit-status '.sources.smi == 8 and .findings == []' <<<"$node" >/dev/null
}

# case: INIT-6
@test "a library that is not there" {
    look
    silent note "rocm_smi library not found (looked for $BATS_TEST_TMPDIR/librocm_smi64.so)"
}

# case: INIT-4
@test "a library of another release than those that it needs" {
    with 'extern uint32_t of_a_newer_release(void); return of_a_newer_release()'
    silent note 'undefined symbol: of_a_newer_release'
    with 'return 0' -DNO_IDS
    silent note 'rocm_smi lacks rsmi_init, rsmi_num_monitor_devices or rsmi_dev_pci_id_get'
}

# case: INIT-1
@test "a library that cannot get its lock is tried three times, and the locks are named" {
    prepare='touch /dev/shm/rocm_smi_card0' with "FILE* f = fopen(\"$BATS_TEST_TMPDIR/tries\", \"a\"); fputs(\"x\", f); fclose(f); return 16"
    silent warning 'rsmi_init failed with status 16 (RSMI_STATUS_BUSY), 3 times'
    silent warning '/dev/shm/rocm_smi_card0'
    [ "$(<"$BATS_TEST_TMPDIR/tries")" = xxx ]
}

# case: INIT-1
@test "a library that gets its lock at the third try" {
    with "FILE* f = fopen(\"$BATS_TEST_TMPDIR/tries\", \"a\"); fputs(\"x\", f); long n = ftell(f); fclose(f); if (n < 3) abort(); return 0"
    jq --exit-status '.sources.smi == 8 and .findings == []' <<<"$node" >/dev/null
}

# case: INIT-1
@test "a library that waits for its lock for ever" {
    prepare='touch /dev/shm/rocm_smi_card0' with 'for (;;) pause()'
    silent warning 'rocm_smi did not answer in time'
    silent warning '/dev/shm/rocm_smi_card0'
    [ "$took" -lt 20 ]
}

# case: INIT-5
@test "a library that ends its process" {
    with 'fputs("terminate called after throwing an instance\n", stderr); abort()'
    silent warning 'was killed by signal 6 (Aborted): terminate called after throwing an instance, 3 times'
    with '*(volatile int*)0 = 1; return 0'
    silent warning 'was killed by signal 11 (Segmentation fault)'
}

# case: INIT-2
# case: ARCH-6
@test "a library that starts well and lists nothing" {
    with 'return 0' -DCOUNT=0
    jq --exit-status '.sources.smi == 0 and ([.findings[] | [.level, .check]] == [["warning", "gpu_count"]])
        and (.findings[0].text | startswith("8 GPUs in KFD, 0 in SMI; not listed by SMI: 0000:c1:00.0 "))' <<<"$node" >/dev/null
}
