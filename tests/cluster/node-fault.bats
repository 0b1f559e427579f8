# cluster: --nodes 3
# A GPU that fails its test: the node leaves service with a reason that names it, and the work goes on elsewhere.

setup() {
    load helpers
    clean_cluster
}

readonly gcd3=0000:ce:00.0

# A batch job on so many nodes that notes each start of its script; prints its id.
submit() {
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
echo "started on $(hostname)" >>"/mnt/work/starts.$SLURM_JOB_ID"
srun where-am-i
TEXT
    as_user sbatch --parsable --ntasks-per-node=1 --gpus-per-node=8 --amd-gpu=auto,env=demo --output=/mnt/work/out "$@" \
        /mnt/work/job
}

@test "a GPU with half its memory bandwidth drains its node and the batch job finishes on another" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    job=$(submit -N1)
    within 60 job_over "$job"
    [ "$(field job "$job" JobState)" = COMPLETED ]
    [ "$(field job "$job" Restarts)" -eq 1 ]
    grep -Eq '^rank .* on n[12]:' /mnt/work/out
    drained n0
    [[ $(reason_of n0) == *"$gcd3"*hbm*GB/s* ]]
    not drained n1
    not drained n2
}

@test "a two-node batch job whose second node is bad has not begun when it goes back to the queue" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n1
    job=$(submit -N2)
    within 60 job_over "$job"
    [ "$(field job "$job" JobState)" = COMPLETED ]
    [ "$(cat "/mnt/work/starts.$job")" = 'started on n0' ]
    [ "$(grep -Eo 'on n[0-2]:' /mnt/work/out | sort | xargs)" = 'on n0: on n2:' ]
    drained n1
    [[ $(reason_of n1) == *"$gcd3"* ]]
}

@test "srun on a bad node ends with the reason and the node is drained" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *"$gcd3"* ]]
    [[ $output != *rank* ]]
    drained n0
    [[ $(reason_of n0) == *"$gcd3"* ]]
}

@test "a job that does not hold the bad GPU is not stopped by it" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    run as_user srun -N1 -w n0 --gpus=2 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
    nodes_in_service
}

@test "a probe that hangs costs its deadline and drains the node" {
    echo 'hang gcd=2 at=launch' | set-faults n0
    begin=$SECONDS
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    ((SECONDS - begin < 40))
    drained n0
    [[ $(reason_of n0) == *0000:c9:00.0* ]]
    nothing_left() { [[ -z $(processes_on n0 amd-gpu-probe) ]]; }
    within 5 nothing_left
}

@test "one flipped bit in memory drains the node" {
    echo 'flip gcd=3 probe=pattern bit=17' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo,probe=standard where-am-i
    [ "$status" -ne 0 ]
    drained n0
    [[ $(reason_of n0) == *"$gcd3"* ]]
}

@test "a low clock drains the node" {
    echo 'clock gcd=3 scale=0.6' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    drained n0
    [[ $(reason_of n0) == *"$gcd3"*fma64* ]]
}

@test "a weak link drains the node and the reason names both ends" {
    echo 'link gcd=2 to=3 scale=0.25' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    drained n0
    [[ $(reason_of n0) == *"$gcd3"* ]]
    [ "$(reason_of n0 | grep -Eo '0000:[0-9a-f]{2}:00\.0' | sort -u | wc -l)" -eq 2 ]
}

@test "a job that met bad nodes too often ends and says so" {
    for node in n0 n1 n2; do echo 'hbm gcd=3 scale=0.5' | set-faults "$node"; done
    job=$(submit -N1)
    within 60 job_over "$job"
    [[ $(field job "$job" JobState) == CANCELLED || $(field job "$job" JobState) == FAILED ]]
    [ "$(field job "$job" Restarts)" -le 2 ]
    scontrol show job "$job" | grep -q "Comment=.*$gcd3"
}

@test "a job that may not be requeued ends with the reason as its comment" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    job=$(submit -N1 -w n0 --no-requeue)
    within 30 job_over "$job"
    [ "$(field job "$job" Restarts)" -eq 0 ]
    [ ! -e "/mnt/work/starts.$job" ]
    scontrol show job "$job" | grep -q "Comment=.*$gcd3"
    drained n0
}

@test "another's drain reason is not overwritten" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    job=$(submit -N1 -w n0 --hold)
    scontrol update nodename=n0 state=drain reason='by hand: new cable'
    as_user scontrol release "$job"
    sleep 2
    [[ $(reason_of n0) == 'by hand: new cable'* ]]
    [ "$(field job "$job" JobState)" = PENDING ]
}

@test "a slow GPU that is well again does not keep its node out of service after a resume" {
    echo 'hbm gcd=3 scale=0.5' | set-faults n0
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -ne 0 ]
    clean_cluster
    run as_user srun -N1 -w n0 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    [ "$status" -eq 0 ]
}
