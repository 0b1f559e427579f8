# cluster: --nodes 2
# What a job gets: software for its GPUs, each rank its own GPU and the cores beside it, and nothing of anyone else's.

setup() {
    load helpers
    clean_cluster
}

# The render nodes that a task may open. The simulated node opens whatever the devices cgroup does not deny.
# shellcheck disable=SC2016
readonly openable='for node in /dev/dri/renderD*; do (exec 3<>"$node") 2>/dev/null && echo "$node"; done'

@test "sixteen ranks on two nodes each get the right software and a GPU of their own" {
    run as_user srun -N2 --ntasks-per-node=8 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [ "$(grep -Ec '^rank .* target gfx90a .*/gfx90a/lib/libdemo\.so$' <<<"$output")" -eq 16 ]
    [ "$(grep -Eo 'on n[01]: GCD [0-7] 0000:[0-9a-f:.]+' <<<"$output" | sort -u | wc -l)" -eq 16 ]
    [ "$(grep -c 'on n1' <<<"$output")" -eq 8 ]
}

@test "each rank runs on the cores of its GPU" {
    run as_user srun -N1 --ntasks-per-node=8 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *"GCD 0 "*"cpus 48-55,112-119"* ]]
    for beside in '0 .*48-55,112-119' '1 .*56-63,120-127' '2 .*16-23,80-87' '3 .*24-31,88-95' \
        '4 .*0-7,64-71' '5 .*8-15,72-79' '6 .*32-39,96-103' '7 .*40-47,104-111'; do
        grep -Eq "GCD $beside " <<<"$output"
    done
}

@test "an explicit --cpu-bind stands against the site's default" {
    run as_user srun -N1 -n1 --gpus-per-node=1 --cpu-bind=map_cpu:3 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *'cpus 3 '* ]]
}

@test "verbose shows the preparation of every node" {
    run as_user srun -N2 --ntasks-per-node=1 --gpus-per-node=8 --amd-gpu=auto,env=demo,verbose where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *n0*GB/s* && $output == *n1* && $output == *gfx942*processor* ]]
}

@test "a step can open its own GPUs and no other job's" {
    as_user srun -N1 -w n0 --gpus=3 --amd-gpu=auto bash -c "$openable; sleep 20" >/mnt/work/first &
    within 20 grep -q /dev/dri /mnt/work/first
    run as_user srun -N1 -w n0 --gpus=2 --amd-gpu=auto bash -c "$openable"
    [ "$(grep -c /dev/dri <<<"$output")" -eq 2 ]
    [ "$({ cat /mnt/work/first; echo "$output"; } | grep /dev/dri | sort -u | wc -l)" -eq 5 ]
    run as_user srun -N1 -w n0 bash -c "$openable"
    [ "$(grep -c /dev/dri <<<"$output")" -eq 0 ]
}

@test "two jobs on one node get different GPUs" {
    as_user srun -N1 -w n0 --gpus=3 --amd-gpu=auto,env=demo bash -c 'where-am-i; sleep 3' >/mnt/work/first &
    first=$!
    within 20 grep -q rank /mnt/work/first
    run as_user srun -N1 -w n0 --gpus=3 --amd-gpu=auto,env=demo where-am-i
    wait "$first"
    [ "$status" -eq 0 ]
    [ "$(grep -Eo '0000:[0-9a-f:.]+' /mnt/work/first | sort -u | wc -l)" -eq 3 ]
    [ "$({ cat /mnt/work/first; echo "$output"; } | grep -Eo '0000:[0-9a-f:.]+' | sort -u | wc -l)" -eq 6 ]
}

@test "with one GPU for each task every task sees its own" {
    run as_user srun -N1 -n4 --gpus-per-task=1 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [ "$(grep -Eo '0000:[0-9a-f:.]+' <<<"$output" | sort -u | wc -l)" -eq 4 ]
}

# Device N is the closest of rank N: the ranks' shares are 2,3 and 0,1.
@test "mask=job leaves every task all GPUs of the job, in one order" {
    run as_user srun -N1 -n2 --gpus-per-node=4 --amd-gpu=auto,env=demo,mask=job where-am-i
    [ "$status" -eq 0 ]
    [ "$(grep -Ec 'GCD 2,0,3,1 ' <<<"$output")" -eq 2 ]
}

# case: SPK-10
@test "the steps of a batch script inherit the option, and a step may have its own" {
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=2 --gpus-per-node=2 --amd-gpu=auto,env=demo --output=/mnt/work/out
where-am-i
srun where-am-i
srun --amd-gpu=off sh -c 'command -v where-am-i || echo without'
TEXT
    run as_user sbatch --wait /mnt/work/job
    [ "$status" -eq 0 ]
    # one line of the script itself, then the step's four
    [ "$(grep -c '^rank' /mnt/work/out)" -eq 5 ]
}

# case: SPK-8
@test "the environment reaches a task that inherits none" {
    run as_user srun --export=NONE -N1 --gpus-per-node=1 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *"target gfx90a"* ]]
}

@test "lists keep what the user had, without empty elements and without doubles" {
    run as_user env CPATH=/mine PATH="/usr/bin::/bin" srun -N1 --gpus-per-node=1 --amd-gpu=auto,env=demo \
        sh -c 'echo "PATH=$PATH"; echo "LD=$LD_LIBRARY_PATH"; echo "CPATH=$CPATH"'
    [ "$status" -eq 0 ]
    [[ $output == *PATH=/mnt/build/demo/envs/demo/gfx90a/bin:* ]]
    [[ $output != *::* ]]
    [[ $output == *LD=/mnt/build/demo/envs/demo/gfx90a/lib* ]]
    [[ $output == *CPATH=/mine* ]]
}

@test "builds find their targets in the usual variables" {
    run as_user srun -N1 --gpus-per-node=1 --amd-gpu=auto env
    [ "$status" -eq 0 ]
    for name in AMDGPU_TARGETS GPU_TARGETS PYTORCH_ROCM_ARCH HCC_AMDGPU_TARGET; do
        grep -Eq "^$name=gfx90a" <<<"$output"
    done
    grep -Eq '^SLURM_AMD_GPU_TARGETS=gfx90a' <<<"$output"
}

@test "a step that gives the option inside a plain allocation is prepared then" {
    run as_user salloc -N1 --gpus-per-node=2 srun --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [[ $output == *"target gfx90a"* ]]
}

# case: SPK-5
@test "a job for a target that the nodes lack fails with one line a node, and the nodes stay" {
    run as_user srun -N2 --ntasks-per-node=4 --gpus-per-node=8 --amd-gpu=gfx942,env=demo where-am-i
    [ "$status" -ne 0 ]
    [ "$(grep -Ec 'gfx942' <<<"$output")" -le 2 ]
    [[ $output == *gfx90a* && $output != *rank* ]]
    nodes_in_service
}

@test "an environment that does not exist is a job fault with the nearest name" {
    run as_user srun -N1 --gpus-per-node=1 --amd-gpu=auto,env=dema where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *dema*demo* ]]
    nodes_in_service
}

@test "a job fault on one node of two ends the whole job within seconds, with the line once and no drain" {
    # This node alone has no variant of the environment.
    node-exec n1 mount -t tmpfs none /mnt/build/demo/envs/demo
    begin=$SECONDS
    run as_user srun -N2 --ntasks-per-node=2 --gpus-per-node=2 --amd-gpu=auto,env=demo sleep 50
    node-exec n1 umount /mnt/build/demo/envs/demo
    [ "$status" -ne 0 ]
    ((SECONDS - begin < 15))
    [ "$(grep -Ec 'amd-gpu:.*n1.*demo|n1.*amd-gpu:.*demo' <<<"$output")" -eq 1 ]
    nodes_in_service
}
