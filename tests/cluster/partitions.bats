# cluster: --nodes 1 --model mi300a-cpx --gpus 24 --cpus 4:24:2 --gres partitions.conf
# A node of four MI300A in six partitions each: Slurm counts 24 GPUs, and each rank gets a partition of its own socket.

setup() {
    load helpers
    clean_cluster
}

# case: PART-2 PART-5 APU-6
@test "24 ranks get 24 partitions, six a board, each beside its own cores" {
    run as_user srun --quiet -N1 -n24 --gpus-per-node=24 --amd-gpu=auto,probe=off sh -c \
        'echo "rank $SLURM_PROCID $SLURM_AMD_GPU_BDFS $ROCR_VISIBLE_DEVICES $(taskset --cpu-list --pid $$ | sed "s/.*: //")"'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '^rank' <<<"$output")" -eq 24 ]
    [ "$(awk '/^rank/ { print $3 }' <<<"$output" | sort -u | wc -l)" -eq 24 ]
    [ "$(awk '/^rank/ { print $4 }' <<<"$output" | sort -u | wc -l)" -eq 24 ]
    for board in 02:0 42:1 82:2 c2:3; do
        socket=${board#*:}
        [ "$(grep -c "0000:${board%:*}:00.0/" <<<"$output")" -eq 6 ]
        # The first CPU of each rank lies in the socket of its board.
        awk -v board="0000:${board%:*}:00.0/" -v socket="$socket" \
            'index($3, board) == 1 { cpu = $5; sub(/[-,].*/, "", cpu); if (int(cpu / 24) != socket) exit 1 }' <<<"$output"
    done
    nodes_in_service
}

# case: PART-1
@test "partitions are probed before a job starts" {
    run as_user srun --quiet -N1 -n1 --gpus-per-node=2 --amd-gpu=auto,probe=quick,verbose printenv SLURM_AMD_GPU_BDFS
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'0000:02:00.0/0,0000:02:00.0/1'* ]]
    [[ $output == *'0000:02:00.0/1'*hbm_copy* ]]
    nodes_in_service
}
