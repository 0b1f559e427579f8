# cluster: --nodes 1 --gres reversed-gres.conf
# Slurm's indices follow gres.conf and nothing else: a job gets the GCDs behind the files that Slurm gave it.

setup() {
    load helpers
    clean_cluster
}

# Every index that Slurm may give stands for one GCD; the job must be told the GCDs whose devices it can open.
# case: VIS-3
@test "a job's GCDs are the ones that its device cgroup lets through, whatever their order in gres.conf" {
    for count in 1 2 3 5 8; do
        run as_user srun -n1 --gpus="$count" --amd-gpu=auto sh -c 'echo "gcds $SLURM_AMD_GPU_GCDS"
            for n in 0 1 2 3 4 5 6 7; do
                case $(dd if=/dev/dri/renderD$((128 + n)) count=0 2>&1) in *permitted*) ;; *) printf "open %s\n" $n ;; esac
            done'
        echo "$output"
        [ "$status" -eq 0 ]
        told=$(sed -n 's/^gcds //p' <<<"$output" | tr ',' '\n' | sort -n)
        opened=$(sed -n 's/^open //p' <<<"$output" | sort -n)
        [ "$(wc -l <<<"$told")" -eq "$count" ]
        [ "$told" = "$opened" ]
    done
    nodes_in_service
}

@test "two jobs share a node whose gres.conf is out of order" {
    as_user srun -n1 -c1 --gpus=3 --amd-gpu=auto sh -c 'echo $SLURM_AMD_GPU_GCDS >/mnt/work/first; sleep 4' &
    first=$!
    within 10 test -s /mnt/work/first
    run as_user srun -n1 -c1 --gpus=3 --amd-gpu=auto printenv SLURM_AMD_GPU_GCDS
    [ "$status" -eq 0 ]
    wait "$first"
    [ "$(tr ',' '\n' <<<"$(</mnt/work/first),$output" | sort -u | wc -l)" -eq 6 ]
}

@test "without slurmd's word about the order a job with some of the GPUs is refused and the node stays" {
    sed -i '/^\[slurm\]/a slurmd = "/nonexistent/slurmd"' /mnt/etc/amd-gpu/n0.toml
    restart-agent n0
    run as_user srun -n1 --gpus=2 --amd-gpu=auto true
    whole=$(as_user srun -n1 --gpus=8 --amd-gpu=auto printenv SLURM_AMD_GPU_GCDS)
    sed -i '/nonexistent/d' /mnt/etc/amd-gpu/n0.toml
    restart-agent n0
    [ "$status" -ne 0 ]
    [[ $output == *'in which order Slurm counts the GPUs'* ]]
    [ "$(tr ',' '\n' <<<"$whole" | wc -l)" -eq 8 ]
    nodes_in_service
}
