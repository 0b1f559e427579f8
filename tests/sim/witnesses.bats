# Independent witnesses of the simulated nodes: Slurm's own detection, rocm-smi and hwloc must agree with `discover` on
# every healthy node without partitions. What they see differently is said where it is compared.

setup() {
    sim=$AMD_GPU_BUILD/bin/amd-gpu-sim
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    models='mi100x4 mi210x2 mi210x4 mi250x mi300a mi300x mi355x hetero'
}

on() {
    local model=$1
    shift
    timeout --kill-after=5 50 "$sim" run --model "$model" --hostname node -- "$@"
}
discovered() {
    on "$1" "$agent" discover --json >"$BATS_TEST_TMPDIR/node"
}
ours() {
    jq --raw-output "$1" "$BATS_TEST_TMPDIR/node"
}

# Slurm gives neither links nor, beyond the processors that the real machine has, cores: only count and files compare.
@test "slurmd finds the render nodes that discover names" {
    [ -n "$(find /usr/lib -name gpu_rsmi.so -print -quit)" ] || skip 'gpu_rsmi.so is not installed'
    for model in $models; do
        discovered "$model"
        cat >"$BATS_TEST_TMPDIR/slurm.conf" <<TEXT
ClusterName=witness
SlurmctldHost=node
GresTypes=gpu
SlurmdSpoolDir=$BATS_TEST_TMPDIR
SlurmdLogFile=$BATS_TEST_TMPDIR/log
NodeName=node CPUs=2 Gres=gpu:$(ours '.gcds | length')
TEXT
        echo AutoDetect=rsmi >"$BATS_TEST_TMPDIR/gres.conf"
        theirs=$(on "$model" slurmd -N node -f "$BATS_TEST_TMPDIR/slurm.conf" -G 2>&1 |
            sed -n 's/.*Gres Name=gpu.* File=\([^ ]*\) .*/\1/p' | sort)
        [ "$theirs" = "$(ours '.gcds[] | "/dev/dri/renderD\(.render_minor)"' | sort)" ]
    done
}

# rocm-smi calls every pair of a hive xGMI, whether direct or not: a pair has a direct link where the greatest bandwidth
# is not 0 ("0-0" otherwise). Its ids have no leading zeros. Without a hive it has no
# bandwidth ("N/A") and exits with 2.
@test "rocm-smi finds the ids, NUMA nodes and direct links that discover names" {
    command -v rocm-smi >/dev/null || skip 'rocm-smi is not installed'
    for model in $models; do
        discovered "$model"
        on "$model" rocm-smi --showuniqueid --showtoponuma --shownodesbw >"$BATS_TEST_TMPDIR/smi" 2>&1 || [ $? -eq 2 ]
        ids=$(sed -n 's/.*Unique ID: \(0x.*\)/\1/p' "$BATS_TEST_TMPDIR/smi")
        [ "$ids" = "$(ours '.gcds[].unique_id' | sed 's/^0x0*/0x/')" ]
        numa=$(sed -n 's/.*Numa Affinity: \(.*\)/\1/p' "$BATS_TEST_TMPDIR/smi")
        [ "$numa" = "$(ours '.gcds[].numa')" ]
        links=$(awk '/^GPU[0-9]/ { for (i = 2; i <= NF; ++i) { split($i, b, "-"); if (b[2] + 0 > 0)
            print substr($1, 4) "-" i - 2 ": " b[2] / 1000 } }' "$BATS_TEST_TMPDIR/smi" | sort)
        [ "$links" = "$(ours '.links[] | select(.type == "xgmi") | "\(.from)-\(.to): \(.gb_per_s)"' | sort)" ]
    done
}

# hwloc shows domain 0000 without its number, and a GPU as a display or an accelerator; a Radeon is a VGA device, as the
# console of a server board is, of another maker.
@test "hwloc finds the GPUs below the NUMA nodes that discover names" {
    command -v lstopo-no-graphics >/dev/null || skip 'hwloc is not installed'
    for model in $models; do
        discovered "$model"
        radeon=$(ours '[.gcds[] | select(.model == "W6800") | .bdf[5:]] | first // "none"')
        theirs=$(on "$model" env HWLOC_COMPONENTS=-x86 lstopo-no-graphics --of console --no-caches |
            sed -n -e 's/.*NUMANode.*P#\([0-9]*\).*/numa \1/p' \
                -e "s/.*PCI \\($radeon\\) (VGA).*/\\1/p" \
                -e 's/.*PCI \([0-9a-f:.]*\) (\(Display\|ProcessingAccelerator\|Accel.*\|Other.*\)).*/\1/p' |
            awk '$1 == "numa" { numa = $2; next } { print "0000:" $1, numa }' | sort)
        [ "$theirs" = "$(ours '.gcds[] | "\(.bdf) \(.numa)"' | sort)" ] || {
            echo "$model: $theirs"
            return 1
        }
    done
}

# The graphics unit of a processor is a GPU to rocm-smi and a VGA device to hwloc; discover leaves it out and says so.
# case: MIX-2
@test "on a workstation the tools see the processor's graphics unit, too, and nothing else beyond discover" {
    command -v rocm-smi >/dev/null || skip 'rocm-smi is not installed'
    discovered ryzen
    known=$({ ours '.gcds[].bdf' && ours '.findings[] | select(.check == "integrated") | .bdf'; } | sort)
    [ "$(wc -l <<<"$known")" -eq 2 ]
    [ "$(on ryzen rocm-smi --showbus | sed -n 's/.*PCI Bus: \([0-9A-Fa-f:.]*\).*/\L\1/p' | sort)" = "$known" ]
    [ "$(on ryzen lstopo-no-graphics --of console --no-caches | sed -n 's/.*PCI \([0-9a-f:.]*\) (VGA).*/0000:\1/p' | sort)" = "$known" ]
}
