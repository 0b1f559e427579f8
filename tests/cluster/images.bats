# cluster: --nodes 1
# Environments whose variants are images on a web server: fetched and mounted once on a node, whoever asks, kept while jobs
# use them and found again by a new agent.

setup() {
    load helpers
    clean_cluster
    tree=/mnt/tmp/tree
    images=/mnt/nodes/n0/images
    rm -rf "$tree"
    mkdir -p "$tree/blobs/sha256"
    [ -e /mnt/tmp/key.pub ] || minisign -G -W -p /mnt/tmp/key.pub -s /mnt/tmp/key >/dev/null
    version=$(date +%s%N | cut -c 1-13) # of the index: only a newer one counts
    python3 -u -m http.server --bind 127.0.0.1 --directory "$tree" 8099 >/mnt/tmp/requests 2>&1 3>&- &
    server=$!
    listens() { (exec 3<>/dev/tcp/127.0.0.1/8099) 2>/dev/null; }
    within 10 listens
}

teardown() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    rm -f /mnt/etc/amd-gpu/environments.d/{hpl,second,third}.toml
}

# offer NAME [MEGABYTES]: makes an image of the demonstration's software, with so much that cannot be compressed, and defines an
# environment of that name. The hash is in $hash.
offer() {
    local name=$1 from=/mnt/tmp/$1
    rm -rf "$from" "$from.sqfs"
    cp -r /mnt/build/demo/envs/demo/gfx90a "$from"
    head -c "$((${2:-0} * 1000000))" /dev/urandom >"$from/noise"
    mksquashfs "$from" "$from.sqfs" -quiet -no-progress -noappend -all-root >/dev/null
    hash=$(sha256sum <"$from.sqfs" | cut -d' ' -f1)
    mv "$from.sqfs" "$tree/blobs/sha256/$hash"
    printf '{"targets": ["gfx90a"], "blob": {"sha256": "%s", "bytes": %s}}' "$hash" \
        "$(stat --format=%s "$tree/blobs/sha256/$hash")" >"/mnt/tmp/$name.json"
    cat >"/mnt/etc/amd-gpu/environments.d/$name.toml" <<TEXT
provider = "bundle"
[bundle]
urls = ["http://127.0.0.1:8099"]
keys = ["$(tail -n 1 /mnt/tmp/key.pub)"]
TEXT
}

# publish NAME...: an index of these environments, signed.
publish() {
    local name text=''
    for name in "$@"; do text+="${text:+, }\"$name\": [$(<"/mnt/tmp/$name.json")]"; done
    version=$((version + 1))
    printf '{"schema": 1, "version": %s, "expires": %s, "environments": {%s}}' "$version" \
        "$(date --date=tomorrow +%s)" "$text" >"$tree/index.json"
    minisign -S -s /mnt/tmp/key -m "$tree/index.json" >/dev/null
}

job() { as_user srun --gpus-per-node=1 "--amd-gpu=auto,env=$1" "${@:2}" where-am-i; }
mounts() { node-exec n0 cat /proc/self/mountinfo | grep -c " $images/mounts/" || true; }
fetches() { grep -c "GET /blobs/sha256/$1" /mnt/tmp/requests || true; }
pins() { find "$images/pins" -type l | wc -l; }
no_pins() { [ "$(pins)" -eq 0 ]; }

# case: SCALE-3
@test "jobs that want the same image at the same time get one fetch and one mount" {
    offer hpl 2
    publish hpl
    for number in 1 2 3 4; do job hpl >"/mnt/tmp/out$number" 2>&1 3>&- & jobs[number]=$!; done
    for number in 1 2 3 4; do
        wait "${jobs[number]}" || { cat "/mnt/tmp/out$number"; false; }
        grep -F "$images/mounts/$hash/lib/libdemo.so" "/mnt/tmp/out$number"
    done
    [ "$(fetches "$hash")" -eq 1 ]
    [ "$(mounts)" -eq 1 ]
    within 20 no_pins
    # It stays for the next job, which asks no server for it.
    job hpl
    [ "$(fetches "$hash")" -eq 1 ]
}

# case: SCALE-3
@test "an image makes room when no job uses it, and not before" {
    offer hpl 9
    first=$hash
    offer second 9
    publish hpl second
    as_user srun --gpus-per-node=1 --amd-gpu=auto,env=hpl sleep 60 3>&- &
    sleeper=$!
    pinned() { [ -n "$(find "$images/pins" -name "*.$first")" ]; }
    within 30 pinned
    within 30 node-exec n0 test -d "$images/mounts/$first/lib"
    run job second
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"limit is 16.0 MiB"*"in use by job"* ]]
    nodes_in_service
    scancel --user=nobody
    wait "$sleeper" || true
    within 20 no_jobs
    within 20 no_pins
    job second
    [ ! -e "$images/blobs/sha256/$first" ]
    [ "$(mounts)" -eq 1 ]
}

@test "an agent that is killed finds the image and its job again" {
    offer hpl 1
    publish hpl
    as_user srun --gpus-per-node=1 --amd-gpu=auto,env=hpl sleep 60 3>&- &
    sleeper=$!
    within 30 node-exec n0 test -d "$images/mounts/$hash/lib"
    running() { [[ $(squeue --noheader --user=nobody --format=%T) == RUNNING ]]; }
    within 30 running
    kill-agent n0
    start-agent n0
    [ "$(pins)" -eq 1 ]
    job hpl
    [ "$(fetches "$hash")" -eq 1 ]
    # Those of the tests before stay in the cache, too.
    [ "$(node-exec n0 cat /proc/self/mountinfo | grep -c " $images/mounts/$hash ")" -eq 1 ]
    scancel --user=nobody
    wait "$sleeper" || true
    within 20 no_pins
}

@test "what is no image of the index never reaches a job, which ends with a line, and the node stays" {
    offer third 1
    publish third
    printf 'rot' | dd of="$tree/blobs/sha256/$hash" bs=1 seek=5000 conv=notrunc status=none
    run job third
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *image* ]]
    nodes_in_service
    [ ! -e "$images/blobs/sha256/$hash" ]
}
