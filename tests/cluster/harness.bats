# The harness itself: clusters that do not meet, pass on what happened and leave nothing behind. Runs outside a cluster.

setup() {
    cd "$BATS_TEST_DIRNAME"
    mounts=$(wc -l </proc/self/mountinfo)
}

cluster() { ./with-cluster --build "$AMD_GPU_BUILD" --logs "harness-$BATS_TEST_NUMBER" "$@"; }
cgroups_of() { ls -d /sys/fs/cgroup/*/amd-gpu-cluster."$1" 2>/dev/null; }
# Processes of the cluster that has this cgroup, wherever they are in the process tree.
processes_of() { grep -ls "amd-gpu-cluster\.$1" /proc/[0-9]*/cgroup; }

@test "a cluster passes on the status of its command and keeps the logs of a failure only" {
    run cluster --nodes 1 -- true
    [ "$status" -eq 0 ]
    [ ! -e "$AMD_GPU_BUILD/cluster-logs/harness-1" ]
    run cluster --nodes 1 -- bash -c 'exit 7'
    [ "$status" -eq 7 ]
    [ -s "$AMD_GPU_BUILD/cluster-logs/harness-1/slurmctld.log" ]
    rm -r "$AMD_GPU_BUILD/cluster-logs/harness-1"
    [ "$(wc -l </proc/self/mountinfo)" -eq "$mounts" ]
}

@test "two clusters at once have the same node names and job numbers and do not meet" {
    for i in 1 2; do
        cluster -- timeout 60 srun -N2 --gpus-per-node=2 bash -c 'echo $SLURM_JOB_ID $(hostname); sleep 2' >"$BATS_TEST_TMPDIR/$i" &
        pids[i]=$!
    done
    wait "${pids[1]}"
    wait "${pids[2]}"
    [ "$(sort "$BATS_TEST_TMPDIR/1" | xargs)" = '1 n0 1 n1' ]
    [ "$(sort "$BATS_TEST_TMPDIR/2" | xargs)" = '1 n0 1 n1' ]
}

@test "a cluster that is killed leaves no process, no mount, and its cgroups go with the next one" {
    cluster -- timeout 60 srun -N2 bash -c "touch $BATS_TEST_TMPDIR/runs; sleep 50" &
    outer=$!
    for ((i = 0; i < 200; i++)); do [ -e "$BATS_TEST_TMPDIR/runs" ] && break || sleep 0.1; done
    # with-cluster is the child of this shell's function call
    script=$(pgrep --parent "$outer" --full with-cluster || echo "$outer")
    kill -KILL $script
    for ((i = 0; i < 50; i++)); do [ -n "$(processes_of "$script")" ] && sleep 0.1 || break; done
    [ -z "$(processes_of "$script")" ]
    [ "$(wc -l </proc/self/mountinfo)" -eq "$mounts" ]
    [ -n "$(cgroups_of "$script")" ]
    cluster --nodes 1 -- true
    [ -z "$(cgroups_of "$script")" ]
}
