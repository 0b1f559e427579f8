# cluster: --nodes 2
# doctor inside a cluster: what Slurm is set to, and which GPUs a step was given.

setup() {
    load helpers
    clean_cluster
}

# case: VIS-10
@test "doctor finds nothing wrong in a step with two GPUs, and counts those two" {
    run as_user srun -w n0 -N1 --gpus-per-node=2 amd-gpu-agent doctor
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'/dev/kfd and 2 GPUs can be opened'* ]]
    [[ $output == *'PrologFlags=Alloc,DeferBatch'* ]]
    [[ $output == *'plugstack.conf loads '*'amd_gpu.so'* ]]
    [[ $output == *'jobs can open their own GPUs only'* ]]
}

# case: VIS-11
@test "doctor says that a step without GPUs was given none" {
    run as_user srun -w n0 -N1 amd-gpu-agent doctor
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'no GPU is allocated to this step'* ]]
    nodes_in_service
}

# case: VIS-6 ARCH-11
@test "doctor names a mask that leaves no GPU and an override" {
    run as_user srun -w n0 -N1 --gpus-per-node=2 \
        env ROCR_VISIBLE_DEVICES= HSA_OVERRIDE_GFX_VERSION=10.3.0 amd-gpu-agent doctor
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'ROCR_VISIBLE_DEVICES="" leaves no GPU'* ]]
    [[ $output == *'HSA_OVERRIDE_GFX_VERSION=10.3.0 hides'* ]]
}

# case: SPK-3 SPK-13
@test "doctor refuses PrologFlags without DeferBatch and a plugin that is not loaded" {
    # slurmctld answers with what it started with: its answer is changed on the way.
    mkdir -p "$BATS_TEST_TMPDIR/etc"
    echo '# nothing' >"$BATS_TEST_TMPDIR/etc/plugstack.conf"
    cat >"$BATS_TEST_TMPDIR/scontrol" <<TEXT
#!/bin/sh
scontrol "\$@" | sed 's,^PrologFlags .*,PrologFlags = Alloc,; s,^PlugStackConfig .*,PlugStackConfig = $BATS_TEST_TMPDIR/etc/plugstack.conf,'
TEXT
    chmod +x "$BATS_TEST_TMPDIR/scontrol"
    printf '[slurm]\nscontrol = "%s"\n' "$BATS_TEST_TMPDIR/scontrol" >"$BATS_TEST_TMPDIR/config.toml"
    run timeout 30 amd-gpu-agent --config "$BATS_TEST_TMPDIR/config.toml" doctor
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'without DeferBatch'* ]]
    [[ $output == *'does not load amd_gpu.so'* ]]
}
