# cluster: --nodes 1
# What slurm-config prints is what the real slurmd takes: the node stays in service and jobs get its GPUs.

setup() {
    load helpers
    clean_cluster
}

# ended PID: succeeds when a process is gone.
ended() { [[ ! -d /proc/$1 ]]; }

# case: GRES-1 GRES-2
@test "a node with the printed lines is idle, and its GPUs are the printed ones in their order" {
    node-exec n0 /mnt/build/bin/amd-gpu-agent --config /mnt/etc/amd-gpu/n0.toml slurm-config --name n0 >/mnt/work/lines
    cat /mnt/work/lines
    gres=$(grep -Eo 'Gres=[^ ]+ Feature=[^ ]+' /mnt/work/lines)
    controller=$(</mnt/state/slurmctld.pid)
    slurmd=$(</mnt/nodes/n0/slurmd.pid)
    kill "$slurmd" "$controller"
    within 20 ended "$slurmd"
    within 20 ended "$controller"
    cp /mnt/work/lines /mnt/etc/gres.conf
    sed -i "s/ Gres=gpu:8 / $gres /" /mnt/etc/slurm.conf
    slurmctld -D >/mnt/log/slurmctld-again.out 2>&1 3>&- &
    start-slurmd n0 3>&-
    within 30 cluster-idle

    node-exec n0 slurmd -G -N n0 -f /mnt/etc/slurm.conf >/mnt/work/seen 2>&1
    cat /mnt/work/seen
    [ "$(grep -c 'Gres Name=gpu ' /mnt/work/seen)" -eq 8 ]
    [ "$(grep -Eo 'File=[^ ]+' /mnt/work/seen)" = "$(grep -Eo 'File=[^ ]+' /mnt/work/lines)" ]
    [ "$(grep -Eo ' Cores=[0-9,-]+' /mnt/work/seen)" = "$(grep -Eo ' Cores=[0-9,-]+' /mnt/work/lines)" ]

    run as_user srun -n1 --gpus=3 --amd-gpu=auto sh -c 'echo $SLURM_AMD_GPU_GCDS'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(tr ',' '\n' <<<"$output" | wc -l)" -eq 3 ]
    nodes_in_service
}
