# cluster: --nodes 2 --model n1=mi300x
# One job on nodes of different GPUs: each node gets the software that was built for its own.

setup() {
    load helpers
    clean_cluster
}

@test "each node of a mixed job gets its own variant" {
    run as_user srun -N2 --ntasks-per-node=8 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    [ "$(grep -Ec 'on n0: .* target gfx90a .*/gfx90a/lib/libdemo\.so$' <<<"$output")" -eq 8 ]
    [ "$(grep -Ec 'on n1: .* target gfx942 .*/gfx942/lib/libdemo\.so$' <<<"$output")" -eq 8 ]
    [ "$(grep -Eo 'on n[01]: GCD [0-7] 0000:[0-9a-f:.]+' <<<"$output" | sort -u | wc -l)" -eq 16 ]
}

@test "a target that one node lacks ends the job on all and takes no node out of service" {
    run as_user srun -N2 --ntasks-per-node=1 --gpus-per-node=8 --amd-gpu=gfx90a,env=demo where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *"n1: GCD 0"*"gfx942"*"the job accepts only gfx90a (processor differs)"* ]]
    within 20 no_jobs
    nodes_in_service
}
