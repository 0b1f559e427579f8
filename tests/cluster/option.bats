# cluster: --nodes 1
# The option as a user meets it: refused or understood before anything is queued, and free of cost when absent.

setup() {
    load helpers
    clean_cluster
}

queued() { squeue --noheader --states=all | wc -l; }

# refused OPTION: srun ends with an error and queues nothing; leaves $output.
refused() {
    local before
    before=$(queued)
    run as_user srun --gpus-per-node=1 "--amd-gpu=$1" true
    [ "$status" -ne 0 ]
    [ "$(queued)" -eq "$before" ]
    # Slurm repeats the whole option behind our line, whatever its length; our line does not.
    ours=$(grep -- '--amd-gpu: ' <<<"$output")
    [ "${#ours}" -lt 300 ]
}

# case: SPK-14
@test "without the option a job's environment has nothing of ours and the agent hears nothing" {
    before=$(agent_status n0 .counters)
    run as_user srun --gpus-per-node=1 env
    [ "$status" -eq 0 ]
    not grep -q SLURM_AMD_GPU <<<"$output"
    [ "$(agent_status n0 .counters)" = "$before" ]
    [ "$(agent_status n0 '.jobs | length')" -eq 0 ]
}

@test "without the option the plugin opens no file and connects to nothing" {
    as_user strace -f -o /mnt/tmp/client -e trace=openat,connect srun --gpus-per-node=1 true
    not grep -Ei 'amd-gpu-agent|amd_gpu\.conf|etc/amd-gpu' /mnt/tmp/client
    slurmd=$(</mnt/nodes/n0/slurmd-started.pid)
    strace -f -o /mnt/tmp/daemon -e trace=openat,connect -p "$slurmd" &
    tracer=$!
    within 5 grep -q TracerPid:.*[1-9] "/proc/$slurmd/status"
    as_user srun --gpus-per-node=1 true
    kill "$tracer"
    wait "$tracer" || true
    grep -q 'amd_gpu\.so' /mnt/tmp/daemon
    not grep -Ei 'amd-gpu-agent|amd_gpu\.conf|etc/amd-gpu' /mnt/tmp/daemon
}

@test "off is the same as no option" {
    before=$(agent_status n0 .counters)
    run as_user srun --gpus-per-node=1 --amd-gpu=off env
    [ "$status" -eq 0 ]
    not grep -q SLURM_AMD_GPU_ <<<"$output"
    [ "$(agent_status n0 .counters)" = "$before" ]
}

@test "a target that does not exist is refused before anything is queued, with the nearest name" {
    refused gfx90b
    [[ $output == *gfx90b*gfx90a* ]]
    refused gfx942:xnack
    [[ $output == *xnack* ]]
    refused gfx90a:foo+
    [[ $output == *foo* ]]
    refused GFX90A
    [[ $output == *gfx90a* ]]
}

@test "an empty, an endless and a contradicting option are refused" {
    refused ''
    refused "$(head -c 10000 /dev/zero | tr '\0' x)"
    refused off,verbose
    refused auto,env=demo,env=demo
    refused probe=thorough
}

@test "sbatch and salloc refuse what srun refuses" {
    run as_user sbatch --gpus-per-node=1 --amd-gpu=gfx90b --wrap true
    [ "$status" -ne 0 ]
    [[ $output == *gfx90a* ]]
    run as_user salloc --gpus-per-node=1 --amd-gpu=gfx90b true
    [ "$status" -ne 0 ]
    [[ $output == *gfx90a* ]]
}

@test "help lists the known targets and queues nothing" {
    before=$(queued)
    run as_user srun --amd-gpu=help true
    [[ $output == *gfx90a* && $output == *gfx942* && $output == *probe=* ]]
    [ "$(queued)" -eq "$before" ]
}

@test "the environment form works and the command line wins over it" {
    run as_user env SLURM_AMD_GPU=auto,env=demo srun --gpus-per-node=1 where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *"target gfx90a"* ]]
    run as_user env SLURM_AMD_GPU=gfx90b srun --gpus-per-node=1 true
    [ "$status" -ne 0 ]
    run as_user env SLURM_AMD_GPU=auto,env=nowhere srun --gpus-per-node=1 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *"target gfx90a"* ]]
}

@test "a job that asks for software but no GPU is told how to ask for one" {
    run as_user srun --amd-gpu=auto hostname
    [ "$status" -ne 0 ]
    [[ $output == *--gpus-per-node=* ]]
    [[ $output != *$'\nn0'* ]]
    nodes_in_service
}
