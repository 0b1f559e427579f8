# cluster: --nodes 1
# The agent and its children coming to harm: every job ends soon and with a line that says why, and the next one works.

setup() {
    load helpers
    clean_cluster
}

job() { as_user srun -N1 --gpus-per-node=2 --amd-gpu=auto,env=demo "${@:-where-am-i}"; }

next_job_works() {
    run job
    [ "$status" -eq 0 ]
    [[ $output == *"target gfx90a"* ]]
}

# A preparation that takes until its deadline, because a probe hangs.
begin_slow_job() {
    echo 'hang gcd=0 at=launch' | set-faults n0
    job >/mnt/tmp/slow 2>&1 &
    slow=$!
    probing() { [[ -n $(processes_on n0 'amd-gpu-probe gcd') ]]; }
    within 10 probing
}

# The slow job is over within 15 seconds, failed, and its output (in $output) is not empty.
slow_job_fails() {
    local begin=$SECONDS status=0
    wait "$slow" || status=$?
    [ "$status" -ne 0 ]
    ((SECONDS - begin < 15))
    output=$(</mnt/tmp/slow)
    [ -n "$output" ]
}

@test "with the agent stopped a job ends within 15 seconds with a line that says so, and the node stays" {
    kill-agent n0 TERM
    begin=$SECONDS
    run job
    [ "$status" -ne 0 ]
    ((SECONDS - begin < 15))
    grep -Eiq 'amd-gpu.*agent' <<<"$output"
    nodes_in_service
    start-agent n0
    next_job_works
}

@test "without the option jobs run while the agent is stopped" {
    kill-agent n0 TERM
    run as_user srun -N1 --gpus-per-node=2 echo fine
    [ "$status" -eq 0 ]
    [ "$output" = fine ]
}

@test "the agent is killed in the middle of a preparation" {
    begin_slow_job
    kill-agent n0
    slow_job_fails
    grep -Eiq 'agent|prolog' <<<"$output"
    nothing_left() { [[ -z $(processes_on n0 amd-gpu-probe) ]]; }
    within 5 nothing_left
    set-faults n0 </dev/null
    start-agent n0
    not drained n0 || scontrol update nodename=n0 state=resume
    within 10 cluster-idle
    next_job_works
}

@test "a frozen agent holds no job for longer than its deadline" {
    kill -STOP "$(</mnt/nodes/n0/agent.pid)"
    begin=$SECONDS
    run job
    kill -CONT "$(</mnt/nodes/n0/agent.pid)"
    [ "$status" -ne 0 ]
    ((SECONDS - begin < 50))
    [ -n "$output" ]
}

@test "a restart of the agent forgets nothing that the next job needs" {
    restart-agent n0
    next_job_works
}

@test "a probe child is killed" {
    begin_slow_job
    set-faults n0 </dev/null
    for pid in $(processes_on n0 'amd-gpu-probe gcd'); do kill -KILL "$pid" || true; done
    wait "$slow" || true
    [ -s /mnt/tmp/slow ]
    not drained n0 || scontrol update nodename=n0 state=resume
    within 10 cluster-idle
    next_job_works
}

@test "the child that reads the SMI library is killed" {
    # A new agent discovers anew; whether the child is met while it lives is a matter of luck, so it is hunted.
    restart-agent n0
    hunt() { for pid in $(processes_on n0 read-smi); do kill -KILL "$pid" || true; done; false; }
    within 3 hunt &
    hunter=$!
    run job
    wait "$hunter" || true
    [[ $output == *"target gfx90a"* ]]
    nodes_in_service
}

@test "slurmd is killed and started again" {
    kill -KILL "$(</mnt/nodes/n0/slurmd-started.pid)"
    start-slurmd n0
    within 20 cluster-idle
    next_job_works
}

@test "sixteen one-GPU jobs at once cost one discovery and one activation, and no GPU in use is probed" {
    restart-agent n0
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N1 -n1 --gpus=1 --amd-gpu=auto,env=demo --output=/mnt/work/out.%j
srun where-am-i && sleep 1
TEXT
    for ((i = 0; i < 16; i++)); do as_user sbatch /mnt/work/job; done
    within 90 no_jobs
    [ "$(cat /mnt/work/out.* | grep -c 'target gfx90a')" -eq 16 ]
    [ "$(cat /mnt/work/out.* | grep -Eo 'GCD [0-7]' | sort | uniq -c | awk '$1 == 2' | wc -l)" -eq 8 ]
    [ "$(agent_status n0 .counters.discoveries)" -eq 1 ]
    [ "$(agent_status n0 .counters.activations)" -eq 1 ]
    [ "$(agent_status n0 .counters.probe_children)" -ge 16 ]
    nodes_in_service
}

@test "a GPU that somebody else's process holds is not probed and is no reason to drain" {
    node-exec n0 sleep 30 &
    holder=$!
    # What the kernel driver shows of a process that has opened a device.
    gpu=$(node-exec n0 sh -c 'cat /sys/class/kfd/kfd/topology/nodes/*/gpu_id' | grep -v '^0$' | head -n 1)
    node-exec n0 sh -c "mkdir -p /sys/class/kfd/kfd/proc/$holder && echo 1073741824 >/sys/class/kfd/kfd/proc/$holder/vram_$gpu"
    before=$(agent_status n0 .counters.probe_children)
    run as_user srun -N1 --gpus-per-node=8 --amd-gpu=auto,env=demo where-am-i
    after=$(agent_status n0 .counters.probe_children)
    node-exec n0 rm -r "/sys/class/kfd/kfd/proc/$holder"
    kill "$holder"
    [ "$before" -eq "$after" ]
    [[ $output == *held* || $output == *"$holder"* ]]
    nodes_in_service
}

@test "discover --agent shows what the daemon knows, as discover finds it, to root alone" {
    agent=(/mnt/build/bin/amd-gpu-agent --config /mnt/etc/amd-gpu/n0.toml discover)
    [ "$(node-exec n0 "${agent[@]}" --json --agent)" = "$(node-exec n0 "${agent[@]}" --json)" ]
    [ "$(node-exec n0 "${agent[@]}" --agent)" = "$(node-exec n0 "${agent[@]}")" ]
    run node-exec n0 setpriv --reuid nobody --regid nogroup --clear-groups "${agent[@]}" --agent
    [ "$status" -eq 4 ]
}
