# cluster: --nodes 2
# Environments of a user's own (env=FILE): what a job carries, whose index counts, and what strangers can do about it.

setup() {
    load helpers
    clean_cluster
    manifest=/mnt/work/m.scm
    echo '(specifications->manifest (list "demo"))' >"$manifest"
    name=sha256:$(sha256sum <"$manifest" | cut -d' ' -f1)
}

as_games() {
    setpriv --reuid games --regid games --clear-groups env HOME=/mnt/work timeout --kill-after=5 "$client_deadline" "$@"
}

# record_of USER [JQ FILTER]: writes a record of the manifest into the user's own index, as that user.
record_of() {
    local directory=/mnt/work/$1.variants/v1/$name
    install --directory --owner="$1" --group=nogroup "/mnt/work/$1.variants" "/mnt/work/$1.variants/v1" "$directory"
    jq --null-input --arg name "$name" '{schema: 1, environment: $name, provider: "guix", targets: ["gfx90a"],
        storage: "prefix", path: "/mnt/build/demo/envs/demo/gfx90a", created: 1}' | jq "${2:-.}" >"$directory/gfx90a.json"
    chown "$1" "$directory/gfx90a.json"
}

# fault OPTION...: the job ends with one line and no node leaves service.
fault() {
    run as_user srun --gpus-per-node=1 "$@" where-am-i
    echo "$output"
    [ "$status" -ne 0 ]
    nodes_in_service
}

# case: SCALE-9 SCALE-10 SCALE-11
@test "a job gets what its user has realised for a file of their own" {
    record_of nobody
    run as_user srun -N2 --ntasks-per-node=1 --gpus-per-node=1 "--amd-gpu=auto,env=./m.scm,verbose" where-am-i
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c '/gfx90a/lib/libdemo\.so$' <<<"$output")" -eq 2 ]
    [[ $output == *"environment ./m.scm: gfx90a"*"variant gfx90a"* ]]
}

@test "a file that has not been realised is a job fault with the command that realises it" {
    fault --amd-gpu=auto,env=./m.scm
    [[ $output == *"environment ./m.scm has no variant for gfx90a"*"amd-gpu-agent realise ./m.scm --targets gfx90a"* ]]
}

@test "another user's record serves nobody but that user" {
    record_of games
    fault --amd-gpu=auto,env=./m.scm
    [[ $output == *"none has been realised"* ]]
    run as_games srun --gpus-per-node=1 --amd-gpu=auto,env=./m.scm where-am-i
    [ "$status" -eq 0 ]
    [[ $output == */gfx90a/lib/libdemo.so* ]]
    # Nor does it become another name's, or its owner's index another's.
    mv /mnt/work/games.variants /mnt/work/nobody.variants
    fault --amd-gpu=auto,env=./m.scm
    [[ $output == *"belongs to uid $(id --user games)"* ]]
}

@test "a forged record makes root mount, open or run nothing" {
    before=$(wc -l </mnt/nodes/n0/mounts 2>/dev/null || node-exec n0 cat /proc/self/mountinfo | wc -l)
    digest=$(printf '%064d' 7)
    for forgery in "del(.path) + {storage: \"blob\", blob: \"$digest\", blob_bytes: 4096}" \
        "del(.path) + {storage: \"blob\", blob: \"$digest\", blob_bytes: 4096, mount_point: \"/etc\"}" \
        '.path = "/mnt/work/../../etc"' '.edits = ["set LD_PRELOAD=/mnt/work/evil.so"]' '.environment = "demo"' \
        '.targets = ["gfx90a", "gfx90a"]' '.schema = 99' '.path = "/root"'; do
        record_of nobody "$forgery"
        fault --amd-gpu=auto,env=./m.scm
        [[ $output != *libdemo* ]]
    done
    # The site's names are the site's.
    mkdir -p "/mnt/work/nobody.variants/v1/demo"
    cp "/mnt/work/nobody.variants/v1/$name/gfx90a.json" /mnt/work/nobody.variants/v1/demo/
    run as_user srun --gpus-per-node=1 --amd-gpu=auto,env=demo where-am-i
    [[ $output == */mnt/build/demo/envs/demo/gfx90a/lib/libdemo.so* ]]
    [ "$(node-exec n0 cat /proc/self/mountinfo | wc -l)" -eq "$before" ]
}

@test "an index full of pipes, links and garbage is a job fault and holds nobody up" {
    record_of nobody
    directory=/mnt/work/nobody.variants/v1/$name
    rm "$directory/gfx90a.json"
    mkfifo "$directory/a.json"
    ln -s /etc/shadow "$directory/b.json"
    head -c 2000000 /dev/urandom >"$directory/c.json"
    truncate -s 10G "$directory/d.json"
    chown -h nobody "$directory"/*
    fault --amd-gpu=auto,env=./m.scm
    [[ $output == *"none has been realised"* ]]
    rm -r "$directory"
    mkfifo "$directory"
    fault --amd-gpu=auto,env=./m.scm
}

@test "what is no manifest is refused before anything is queued" {
    mkdir -p /mnt/work/directory
    mkfifo /mnt/work/pipe
    truncate -s 1048577 /mnt/work/long.scm
    : >/mnt/work/empty.scm
    install --mode=000 /dev/null /mnt/work/secret.scm
    jobs=$(squeue --noheader --states=all | wc -l)
    while IFS='|' read -r file wanted; do
        run as_user timeout 5 srun --gpus-per-node=1 "--amd-gpu=auto,env=$file" true
        echo "$file: $output"
        [ "$status" -ne 0 ] && [ "$status" -ne 124 ]
        [[ $output == *"$wanted"* ]]
    done <<'TEXT'
./directory|is a directory
./pipe|no regular file
/dev/zero|no regular file
./long.scm|longer than 1 MiB
./empty.scm|is empty
./secret.scm|Permission denied
./none.scm|No such file
TEXT
    [ "$(squeue --noheader --states=all | wc -l)" -eq "$jobs" ]
}

@test "a batch job's environment is what its file was at submit, in each of its steps" {
    record_of nobody
    cat >/mnt/work/script <<'TEXT'
#!/bin/bash
sleep 1
srun --ntasks=1 where-am-i
srun --ntasks=1 --amd-gpu=auto,env=./m.scm sh -c 'echo "explicit: $SLURM_AMD_GPU_ENVIRONMENT"'
TEXT
    job=$(as_user sbatch --parsable -N1 --gpus-per-node=1 --amd-gpu=auto,env=./m.scm --output=/mnt/work/out /mnt/work/script)
    echo ';; changed' >>"$manifest"
    within 30 job_over "$job"
    cat /mnt/work/out
    grep -q '/gfx90a/lib/libdemo\.so$' /mnt/work/out
    # Named anew on the command line, the file is read anew: this one has not been realised.
    grep -q 'has no variant for gfx90a' /mnt/work/out
}

@test "--export=NONE takes the file along, and a step that cannot read it uses what the job carries" {
    record_of nobody
    run as_user srun --export=NONE --gpus-per-node=1 --amd-gpu=auto,env=./m.scm where-am-i
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == */gfx90a/lib/libdemo.so* ]]
    printf '#!/bin/bash\nrm ./m.scm\nsrun --ntasks=1 --amd-gpu=auto,env=./m.scm where-am-i\n' >/mnt/work/script
    job=$(as_user sbatch --parsable --export=NONE -N1 --gpus-per-node=1 --amd-gpu=auto,env=./m.scm --output=/mnt/work/out /mnt/work/script)
    within 30 job_over "$job"
    cat /mnt/work/out
    grep -q '/gfx90a/lib/libdemo\.so$' /mnt/work/out
}

@test "a digest that a user makes up finds that user's own records at most" {
    run as_user env "SLURM_SPANK_AMD_GPU_FILE=$name ./gone.scm" srun --gpus-per-node=1 --amd-gpu=auto,env=./gone.scm where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *"has no variant"* ]]
    run as_user env "SLURM_SPANK_AMD_GPU_FILE=demo ./gone.scm" srun --gpus-per-node=1 --amd-gpu=auto,env=./gone.scm where-am-i
    [ "$status" -ne 0 ]
    [[ $output == *"No such file"* ]]
    nodes_in_service
}
