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
    [[ $output == *'ROCR_VISIBLE_DEVICES= leaves no GPU'* ]]
    [[ $output == *'HSA_OVERRIDE_GFX_VERSION=10.3.0 hides'*'(really gfx90a'* ]]
}

# case: VIS-1
@test "doctor composes the masks of a step with two GPUs" {
    run as_user srun -w n0 -N1 --gpus-per-node=2 env ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1 amd-gpu-agent doctor
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'HIP_VISIBLE_DEVICES=1 leaves no GPU over'* ]]
    [[ $output == *'finds no usable GPU; without this process'"'"'s variables it lists 2'* ]]
    nodes_in_service
}

# case: SPK-1 SPK-12
@test "doctor names the release that the plugin was built for, finds its line in an included file, and the order of GPUs" {
    mkdir -p "$BATS_TEST_TMPDIR/etc/more"
    echo "include $BATS_TEST_TMPDIR/etc/more/*.conf" >"$BATS_TEST_TMPDIR/etc/plugstack.conf"
    cp /mnt/etc/plugstack.conf "$BATS_TEST_TMPDIR/etc/more/10-gpu.conf"
    cat >"$BATS_TEST_TMPDIR/scontrol" <<TEXT
#!/bin/sh
scontrol "\$@" | sed 's,^SLURM_VERSION .*,SLURM_VERSION = 19.05.1,; s,^PlugStackConfig .*,PlugStackConfig = $BATS_TEST_TMPDIR/etc/plugstack.conf,
    s,^PrologEpilogTimeout .*,PrologEpilogTimeout = 2 sec,'
TEXT
    chmod +x "$BATS_TEST_TMPDIR/scontrol"
    printf '[slurm]\nscontrol = "%s"\n' "$BATS_TEST_TMPDIR/scontrol" >"$BATS_TEST_TMPDIR/config.toml"
    run node-exec n0 env SLURMD_NODENAME=n0 timeout 30 amd-gpu-agent --config "$BATS_TEST_TMPDIR/config.toml" doctor
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'amd_gpu.so was built for Slurm '*', this is 19.05.1'* ]]
    [[ $output == *'PrologEpilogTimeout=2 leaves 1.6 s'* ]]
    [[ $output == *'Slurm counts 8 GPUs here'* ]]
    [[ $output == *'Slurm counts the GPUs in the order of their addresses'* ]]
}

@test "doctor tells that a node is drained, and why" {
    scontrol update NodeName=n0 State=DRAIN Reason='a loud fan'
    run node-exec n0 env SLURMD_NODENAME=n0 timeout 30 amd-gpu-agent --config /mnt/etc/amd-gpu/n0.toml doctor
    scontrol update NodeName=n0 State=RESUME
    echo "$output"
    [[ $output == *'Slurm gives no work to this node ('*'DRAIN: a loud fan'* ]]
    [[ $output == *'the daemon answers'* ]]
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
