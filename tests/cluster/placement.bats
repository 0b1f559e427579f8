# cluster: --nodes 1
# Where ranks run and which GPUs they see, in real steps of a simulated MI250X node: Slurm binds first, the plugin then maps.

setup() {
    load helpers
    clean_cluster
    # What a rank sees: its number, its GCDs, the mask, and the CPUs that the kernel lets it run on.
    cat >/mnt/work/rank <<'TEXT'
#!/bin/bash
echo "rank $SLURM_PROCID gcds ${SLURM_AMD_GPU_GCDS-unset} bdfs ${SLURM_AMD_GPU_BDFS-unset} rocr ${ROCR_VISIBLE_DEVICES-unset}" \
    "hip ${HIP_VISIBLE_DEVICES-unset} cuda ${CUDA_VISIBLE_DEVICES-unset} cpus $(taskset --cpu-list --pid $$ | sed 's/.*: //')"
TEXT
    chmod 755 /mnt/work/rank
}

ranks() { as_user srun --quiet --label -N1 "$@" /mnt/work/rank; }
# The values of a word of every rank's line, in the order of ranks: each WORD
each() { grep -E '^ *[0-9]+: rank' <<<"$output" | sed 's/^ *[0-9]*: //' | sort -n -k2,2 | grep -oE " $1 [^ ]*" | sed "s/^ $1 //" | xargs; }

# case: TOPO-1
@test "eight ranks get the GCDs of ascending cores, and run on the cores of their L3" {
    run ranks -n8 --gpus-per-node=8 --amd-gpu=auto,probe=off,verbose
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(each gcds)" = '4 5 2 3 6 7 0 1' ]
    [ "$(each cpus)" = '0-7,64-71 8-15,72-79 16-23,80-87 24-31,88-95 32-39,96-103 40-47,104-111 48-55,112-119 56-63,120-127' ]
    # The map is a table, once.
    [ "$(grep -c 'rank  node  GCD  BDF           NUMA  CPUs' <<<"$output")" -eq 1 ]
    [[ $output == *'6     n0    0    0000:c1:00.0  3     48-55,112-119'* ]]
}

# case: TOPO-1
@test "the first core of each L3 is the site's: seven cores a rank" {
    sed -i 's/^\[job\]/[job]\nreserved_cores = "0,8,16,24,32,40,48,56,64,72,80,88,96,104,112,120"/' /mnt/etc/amd-gpu/n0.toml
    restart-agent n0
    run ranks -n8 --gpus-per-node=8 --amd-gpu=auto,probe=off
    sed -i "/^reserved_cores = /d" /mnt/etc/amd-gpu/n0.toml
    restart-agent n0
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(each gcds)" = '4 5 2 3 6 7 0 1' ]
    [ "$(each cpus)" = '1-7,65-71 9-15,73-79 17-23,81-87 25-31,89-95 33-39,97-103 41-47,105-111 49-55,113-119 57-63,121-127' ]
}

@test "three ranks share eight GCDs, sixteen ranks share them and divide the cores" {
    run ranks -n3 --gpus-per-node=8 --amd-gpu=auto,probe=off
    echo "$output"
    [ "$(each gcds)" = '4,5 2,3,6 7,0,1' ]
    [ "$(each cpus)" = '0-15,64-79 16-39,80-103 40-63,104-127' ]
    run ranks -n16 --gpus-per-node=8 --amd-gpu=auto,probe=off
    echo "$output"
    [ "$(each gcds)" = '4 4 5 5 2 2 3 3 6 6 7 7 0 0 1 1' ]
    [[ $(each cpus) == '0-3,64-67 4-7,68-71 8-11,72-75 '* ]]
}

# case: TOPO-9
@test "an explicit --cpu-bind stays, and the GCDs follow the ranks" {
    run ranks -n8 -c16 --gpus-per-node=8 --cpu-bind=map_cpu:48,56,16,24,0,8,32,40 --amd-gpu=auto,probe=off
    echo "$output"
    [ "$(each gcds)" = '0 1 2 3 4 5 6 7' ]
    [ "$(each cpus)" = '48 56 16 24 0 8 32 40' ]
    run ranks -n2 -c8 --gpus-per-node=8 --cpu-bind=none --amd-gpu=auto,probe=off,bind=none,verbose
    echo "$output"
    [ "$(each gcds)" = '4,5,2,3 6,7,0,1' ]
    [ "$(each cpus)" = '0-7,64-71 0-7,64-71' ]
    [ "$(grep -c 'not beside its GPU' <<<"$output")" -eq 1 ]
}

# case: VIS-7 VIS-8
@test "tasks that may open only their own GPU know it by its address, and the user is told what that costs" {
    run ranks -n3 --gpus-per-task=1 --amd-gpu=auto,probe=off,verbose
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(each bdfs)" = '0000:c1:00.0 0000:c6:00.0 0000:c9:00.0' ]
    [ "$(grep -c 'each task can open only its own GPU' <<<"$output")" -eq 1 ]
    [[ $output == *'--gpus-per-node=N --gpu-bind=none'* ]]
    [ "$(grep -c 'rank  node' <<<"$output")" -eq 1 ]
    # The remedy has no such fence, and each rank has its own all the same.
    run ranks -n3 --gpus-per-node=3 --gpu-bind=none --amd-gpu=auto,probe=off
    echo "$output"
    [[ $output != *'only its own'* ]]
    [ "$(each bdfs | tr ' ' '\n' | sort -u | wc -l)" -eq 3 ]
    nodes_in_service
}

# case: VIS-1 VIS-2
@test "masks of all layers agree, and mask=none leaves them alone but says what they hide" {
    one=$(as_user srun --quiet -N1 -n1 --gpus-per-node=1 --amd-gpu=auto,probe=off printenv ROCR_VISIBLE_DEVICES)
    [[ $one == GPU-* ]]
    HIP_VISIBLE_DEVICES=3 CUDA_VISIBLE_DEVICES=5 run ranks -n2 --gpus-per-node=4 --amd-gpu=auto,probe=off
    echo "$output"
    [ "$(each hip)" = '0,1 0,1' ]
    [ "$(each cuda)" = '0,1 0,1' ]
    HIP_VISIBLE_DEVICES=3 run ranks -n1 --gpus-per-node=2 --amd-gpu=auto,probe=off,mask=none
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(each hip)" = 3 ]
    [[ $output == *'HIP_VISIBLE_DEVICES=3 leaves no GPU over'* ]]
}

@test "with mask=job the device of a program's local rank is the one beside it" {
    run ranks -n8 --gpus-per-node=8 --amd-gpu=auto,probe=off,mask=job
    echo "$output"
    [ "$(each gcds | xargs -n1 | sort -u)" = '4,5,2,3,6,7,0,1' ]
    [[ $(each cpus) == '0-7,64-71 8-15,72-79 '* ]]
}

# case: ARCH-11 ARCH-12
@test "an override of the processor is remarked on" {
    HSA_OVERRIDE_GFX_VERSION=10.3.0 run ranks -n1 --gpus-per-node=1 --amd-gpu=auto,probe=off
    [ "$status" -eq 0 ]
    [[ $output == *'HSA_OVERRIDE_GFX_VERSION=10.3.0'*gfx90a* ]]
}
