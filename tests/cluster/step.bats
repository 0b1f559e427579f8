# cluster: --nodes 2
# Steps that are prepared late: the option came with the step, or the agent forgot the job. Their GPUs are what the step's
# device cgroup lets through, whatever the user's environment says.

setup() {
    load helpers
    clean_cluster
}

# No caches of any job on any node, and nothing that an agent remembers.
nothing_left() {
    local node
    for node in $(nodes); do
        [[ -z $(ls -A "/mnt/nodes/$node/caches") && $(agent_status "$node" '.jobs | length') -eq 0 ]] || return 1
    done
}

in_allocation() { as_user salloc --quiet -w n0 "$@"; }

@test "a forged list of GPUs drains nothing, and probes nothing that belongs to others" {
    before=$(agent_status n0 .counters.probe_children)
    run in_allocation -N1 bash -c 'SLURM_JOB_GPUS=100 SLURM_STEP_GPUS=0-7 srun --amd-gpu=auto,env=demo where-am-i'
    [ "$status" -ne 0 ]
    [[ $output == *'--gpus-per-node'* ]]
    [ "$(agent_status n0 .counters.probe_children)" -eq "$before" ]
    nodes_in_service
    run in_allocation -N1 --gpus-per-node=2 bash -c 'SLURM_JOB_GPUS=0-99 srun --amd-gpu=auto,env=demo where-am-i'
    [ "$status" -eq 0 ]
    [[ $output == *'GCD 0,1 '* ]]
    nodes_in_service
}

@test "a step that wants none of the job's GPUs runs without them" {
    run as_user salloc --quiet -N1 -w n0 --gpus-per-node=2 --amd-gpu=auto,probe=off bash -c '
        env --unset=SLURM_GPUS_PER_NODE srun --gres=none --amd-gpu=auto,probe=off,verbose sh -c "echo bare \${ROCR_VISIBLE_DEVICES-unset}"
        srun --amd-gpu=auto,probe=off sh -c "echo with \$SLURM_AMD_GPU_GCDS"'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"this step has none of the job's GPUs"* ]]
    [[ $output == *'bare unset'* ]]
    [[ $output == *'with '[0-7],[0-7]* ]]
    nodes_in_service
}

@test "steps of one allocation each get the GPUs of their own" {
    run in_allocation -N1 --gres=gpu:4 bash -c '
        srun -n1 -c1 --exact --gres=gpu:2 --amd-gpu=auto,env=demo sh -c "where-am-i; sleep 3" &
        srun -n1 -c1 --exact --gres=gpu:2 --amd-gpu=auto,env=demo sh -c "where-am-i; sleep 3"
        wait
        srun -n1 --gres=gpu:4 --amd-gpu=auto,env=demo where-am-i'
    echo "$output"
    [ "$status" -eq 0 ]
    # Two steps with two GPUs each, none of them in both; then all four.
    [ "$(grep -Eo 'GCD [0-9],[0-9] ' <<<"$output" | sort -u | wc -l)" -eq 2 ]
    [ "$(grep -Eo 'GCD [0-9],[0-9] ' <<<"$output" | grep -Eo '[0-9]' | sort -u | wc -l)" -eq 4 ]
    [ "$(grep -Ec 'GCD [0-9],[0-9],[0-9],[0-9] ' <<<"$output")" -eq 1 ]
}

@test "a fault inside an allocation ends its step and not the allocation, every time" {
    node-exec n1 mount -t tmpfs none /mnt/build/demo/envs/demo
    begin=$SECONDS
    run as_user salloc --quiet -N2 --gpus-per-node=1 bash -c '
        srun --amd-gpu=auto,env=demo sleep 20
        srun --amd-gpu=auto,env=demo sleep 20
        srun hostname && echo still there'
    node-exec n1 umount /mnt/build/demo/envs/demo
    [ "$status" -eq 0 ]
    ((SECONDS - begin < 20))
    [[ $output == *'still there'* ]]
    nodes_in_service
}

@test "a running job whose agent was restarted goes on, also when its GPU is in use" {
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N1 -w n0 -n1 --gpus=1 --amd-gpu=auto,env=demo --output=/mnt/work/out
touch /mnt/work/begun
while [[ ! -e /mnt/work/go ]]; do sleep 0.1; done
srun where-am-i
TEXT
    job=$(as_user sbatch --parsable /mnt/work/job)
    within 20 test -e /mnt/work/begun
    restart-agent n0
    # A process of the job's that holds the GPU, as the kernel driver shows it.
    holder=$(processes_on n0 slurm_script | head -n 1)
    [ -n "$holder" ]
    gpu=$(node-exec n0 sh -c 'cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id' | grep -v '^0$' | head -n 1)
    node-exec n0 sh -c "mkdir -p /sys/class/kfd/kfd/proc/$holder && echo 1073741824 >/sys/class/kfd/kfd/proc/$holder/vram_$gpu"
    touch /mnt/work/go
    within 40 job_over "$job"
    [ "$(field job "$job" JobState)" = COMPLETED ]
    grep -q 'target gfx90a' /mnt/work/out
}

@test "with a bad GPU under one task of an array the other tasks are left alone" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n1
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N1 --gpus-per-node=8 --array=0-1 --amd-gpu=auto,env=demo --output=/mnt/work/out.%a
echo "begun $SLURM_RESTART_COUNT" >>"/mnt/work/begun.$SLURM_ARRAY_TASK_ID"
where-am-i
TEXT
    job=$(as_user sbatch --parsable /mnt/work/job)
    within 60 job_over "$job"
    [ "$(cat /mnt/work/out.0 /mnt/work/out.1 | grep -c 'target gfx90a')" -eq 2 ]
    # Each script has begun once, and only one of the two was ever requeued.
    [ "$(cat /mnt/work/begun.0 /mnt/work/begun.1 | wc -l)" -eq 2 ]
    [ "$(grep -c 'begun 1' /mnt/work/begun.0 /mnt/work/begun.1 | grep -c ':1')" -eq 1 ]
    drained n1
    not drained n0
}

@test "an error that held memory gives is no reason to drain, one that only a broken device gives is" {
    echo 'error gcd=3 call=hipMalloc code=2' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *0000:ce:00.0*hipErrorOutOfMemory* ]]
    nodes_in_service
    echo 'lost gcd=3 after=5' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    drained n0
    [[ $(reason_of n0) == *0000:ce:00.0* ]]
}

@test "the components of a heterogeneous job leave nothing behind" {
    run as_user salloc --quiet -N1 -n1 --gpus-per-node=1 : -N1 -n1 --gpus-per-node=1 \
        srun --quiet --amd-gpu=auto,probe=off,env=demo sh -c 'echo "one ${SLURM_AMD_GPU_ENVIRONMENT-none}"' : \
        true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'one demo'* ]]
    within 20 nothing_left
}
