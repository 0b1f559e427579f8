# Making variants with GNU Guix: a program that answers as Guix does stands in for it.

bats_require_minimum_version 1.5.0

setup() {
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    # The user that evaluates must get here, too.
    site=$(mktemp --directory /tmp/amd-gpu-realise.XXXXXX)
    chmod 0777 "$site"
    mkdir "$site/environments.d"
    cp "$BATS_TEST_DIRNAME/../fakes/guix" "$site/guix"
    cat >"$site/amd-gpu.toml" <<TEXT
[environment]
directory = "$site/environments.d"
index = "$site/index"
user_index = "$site/users/{user}"
[guix]
program = "$site/guix"
TEXT
    cat >"$site/environments.d/hpl.toml" <<TEXT
description = "HPL"
provider = "guix"
[guix]
packages = ["rochpl", "openmpi"]
TEXT
}

teardown() { rm -rf "$site"; }

agent() { timeout 60 "$agent" --config "$site/amd-gpu.toml" "$@"; }
as_nobody() { setpriv --reuid nobody --regid nogroup --clear-groups timeout 60 "$agent" --config "$site/amd-gpu.toml" "$@"; }
guix_is() { printf '%s\n' "$1" >"$site/guix.json"; }
records() { find "$site/index/v1" -name '*.json' 2>/dev/null | wc -l; }

# No record, no root, no process and no file that evaluation made.
nothing_left() {
    [ "$(records)" -eq 0 ]
    [ -z "$(ls "$site/index/roots" 2>/dev/null)" ]
    [ -z "$(find /tmp -maxdepth 1 -name 'amd-gpu-guix.*' -newer "$site/amd-gpu.toml")" ]
    ! pgrep --full "$site/guix"
}

@test "a variant is planned, realised once, recorded with its root, and found again" {
    run -0 agent realise hpl --targets gfx90a --plan
    [[ $output == *"build: 0 to download, 2 to build"*"-rochpl-7.1.1.drv"*"--default-targets"* ]]
    [ "$(records)" -eq 0 ]
    run -0 agent realise hpl --targets gfx90a
    record=$(sed -n 's/^record //p' <<<"$output")
    [ "$(jq --raw-output '.targets | join(",")' "$record")" = gfx90a ]
    [ "$(jq --raw-output .storage "$record")" = store ]
    profile=$(jq --raw-output .path "$record")
    [ "$(readlink "$site/index/roots/$(jq --raw-output .provenance.root "$record")")" = "$profile" ]
    jq --exit-status '.edits == ["set GUIX_ENVIRONMENT=${prefix}", "prepend LIBRARY_PATH=${prefix}/lib",
        "prepend PATH=${prefix}/bin", "set ROCM_PATH=${prefix}"]' "$record"

    : >"$site/calls"
    run -0 agent realise hpl --targets gfx90a
    [[ $output == *"ready: it has been realised before"*"record $record"* ]]
    [ "$(grep -c ' -f ' "$site/calls")" -eq 0 ]
    run -0 agent variants list hpl
    [[ $output == *"gfx90a"*" ok "*"$profile"* ]]
    run -0 agent variants verify
    [[ $output == *"1 of 1 variants are good"* ]]
}

@test "order and duplicates of targets make no other variant" {
    run -0 agent realise hpl --targets gfx942,gfx90a,gfx942
    record=$(sed -n 's/^record //p' <<<"$output")
    [ "$(jq --raw-output '.targets | join(",")' "$record")" = gfx90a,gfx942 ] ||
        [ "$(jq --raw-output '.targets | join(",")' "$record")" = gfx942,gfx90a ]
    run -0 agent realise hpl --targets gfx90a,gfx942
    [[ $output == *"ready: it has been realised before"* ]]
    [ "$(records)" -eq 1 ]
}

@test "the compiler's default targets are to be had without building" {
    run -0 agent realise hpl --default-targets
    [[ $output == *"fetch: 2 to download (112.3 MB), 0 to build"* ]]
    record=$(sed -n 's/^record //p' <<<"$output")
    jq --exit-status '.substitutable and (.targets | length == 8) and (.targets | index("gfx90a") != null)' "$record"
}

# guix 1.5.0 as released
@test "a Guix that does not know --amd-gpu is told of before anything is evaluated" {
    guix_is '{"amd_gpu": false}'
    run ! agent realise hpl --targets gfx90a
    echo "$output"
    [[ $output == *"--amd-gpu"* ]]
    [ "$(grep -c ' -f ' "$site/calls")" -eq 0 ]
    nothing_left
}

# What `guix shell -m FILE --amd-gpu=T` does: status 0, no warning, the untransformed software.
@test "software that was not compiled for the target never becomes a variant" {
    guix_is '{"compiled": false}'
    run ! agent realise hpl --targets gfx90a
    [[ $output == *"none of the packages is for AMD GPUs"* ]]
    nothing_left
    rm "$site/guix.json"
    sed -i 's/packages = .*/packages = ["hello"]/' "$site/environments.d/hpl.toml"
    run ! agent realise hpl --targets gfx90a
    [[ $output == *"none of the packages is for AMD GPUs"* ]]
    nothing_left
}

@test "targets that Guix cannot build for are refused with what can be asked for" {
    run -1 agent realise hpl --targets gfx90a:xnack+
    [[ $output == *"ask for gfx90a"* ]]
    run ! agent realise hpl --targets gfx1036
    [[ $output == *"does not know the target"*"does not support AMD GPU target gfx1036"* ]]
    run ! agent realise hpl --targets gfx90b
    [[ $output == *'did you mean gfx90'* ]]
    nothing_left
}

# case: SCALE-7
@test "each failure of Guix is one line that says what to do, and leaves nothing behind" {
    while IFS='|' read -r step text wanted; do
        guix_is "$(jq --null-input --arg step "$step" --arg text "$text" '{fail: {($step): $text}}')"
        run ! agent realise hpl --targets gfx90a
        echo "$step: $text -> $output"
        [[ ${output##*$'\n'} == *"$wanted"* ]]
        nothing_left
    done <<'TEXT'
evaluate|guix build: error: failed to connect to `/var/guix/daemon-socket/socket': No such file or directory|daemon
evaluate|guix build: error: failed to connect to `127.0.0.1': Connection refused|daemon
build|guix build: error: some substitutes for the outputs of derivation `/gnu/store/x.drv' failed (usually happens due to networking issues); try `--fallback' to build derivation from source|substitute
build|guix build: error: writing to file: No space left on device|space
build|builder for `/gnu/store/x-rochpl.drv' failed with exit code 3|rochpl
build|building of `/gnu/store/x-rochpl.drv' timed out after 10 seconds|timed out
root|guix build: error: path `/x' is not valid|garbage
TEXT
    guix_is '{"signal": "build"}'
    run ! agent realise hpl --targets gfx90a
    [[ $output == *"guix"*"signal 9"* ]]
    nothing_left
}

@test "a build that goes on for ever ends at the time limit, with its children" {
    guix_is '{"sleep": "build"}'
    run ! agent realise hpl --targets gfx90a --time-limit 3
    [[ $output == *"time limit"* ]]
    nothing_left
}

@test "many who realise the same at once make it once" {
    for i in 1 2 3 4 5 6 7 8; do
        agent realise hpl --targets gfx90a >"$site/out.$i" 2>&1 &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid"; done
    [ "$(records)" -eq 1 ]
    [ "$(grep -c -- '--max-silent-time' "$site/calls")" -eq 1 ]
    [ "$(grep -l 'realised before' "$site"/out.* | wc -l)" -eq 7 ]
}

@test "channels without full commits are refused; with them, Guix is asked through the time machine" {
    printf 'channels = "%s/channels.scm"\n' "$site" >>"$site/environments.d/hpl.toml"
    echo '(list (channel (name (quote guix)) (url "https://git.guix.gnu.org/guix.git") (branch "master")))' >"$site/channels.scm"
    run ! agent realise hpl --targets gfx90a
    [[ $output == *"channels.scm"*"commit"* ]]
    [ ! -e "$site/calls" ]
    commit=0123456789abcdef0123456789abcdef01234567
    echo "(list (channel (name 'guix) (url \"https://git.guix.gnu.org/guix.git\") (commit \"$commit\")))" >"$site/channels.scm"
    run -0 agent realise hpl --targets gfx90a
    record=$(sed -n 's/^record //p' <<<"$output")
    [ "$(jq --raw-output '.provenance["channel guix"]' "$record")" = "$commit" ]
    grep -q "^time-machine -q -C $site/channels.scm -- build -f" "$site/calls"
}

@test "a user realises a manifest of their own, evaluated as that user, into their own index" {
    mkdir -m 0777 "$site/users"
    echo '(specifications->manifest (list "rochpl"))' >"$site/m.scm"
    run -0 as_nobody realise "$site/m.scm" --targets gfx90a
    record=$(sed -n 's/^record //p' <<<"$output")
    [[ $record == "$site/users/nobody/v1/sha256:$(sha256sum <"$site/m.scm" | cut -d' ' -f1)/"* ]]
    [ "$(stat --format=%U "$record")" = nobody ]
    grep -q "^uid=$(id --user nobody)\$" "$site/environment"
    run -0 as_nobody resolve "$site/m.scm" --targets gfx90a:sramecc+
    [[ $output == *"gfx90a:sramecc+ <- variant gfx90a"*"set ROCM_PATH=$(jq --raw-output .path "$record")"* ]]
    run -1 as_nobody resolve "$site/m.scm" --targets gfx1100
    [[ $output == *"amd-gpu-agent realise $site/m.scm --targets gfx1100"* ]]
    run ! as_nobody realise hpl --targets gfx90a
    [[ $output == *"realised by an administrator"*"manifest.scm"* ]]
    # A manifest of Guile's is a program: root runs none.
    run -0 agent realise hpl --targets gfx90a
    ! grep -l '^uid=0' "$site/evaluated" 2>/dev/null
    [ "$(records)" -eq 1 ]
}

@test "a variant that was collected as garbage is made again" {
    run -0 agent realise hpl --targets gfx90a
    rm -r "$site"/store/*-profile
    run -1 agent variants verify
    [[ $output == *"0 of 1 variants are good"* ]]
    run -0 agent realise hpl --targets gfx90a
    [[ $output != *"realised before"* ]]
    run -0 agent variants verify hpl
}

@test "a newer variant replaces an older one; pruning retires it first and deletes it a month later" {
    agent realise hpl --targets gfx90a
    sed -i 's/"openmpi"/"openmpi", "hello"/' "$site/environments.d/hpl.toml"
    agent realise hpl --targets gfx90a
    [ "$(records)" -eq 2 ]
    run -0 agent variants list
    [[ $output == *superseded* ]]
    run -0 agent variants prune --dry-run
    [[ $output == *"would be retired"* ]]
    [ "$(records)" -eq 2 ]
    run -0 agent variants prune
    [ "$(records)" -eq 1 ]
    [ "$(ls "$site/index/roots" | wc -l)" -eq 2 ]
    find "$site/index/retired" -name '*.json' -exec touch --date='32 days ago' {} +
    run -0 agent variants prune
    [[ $output == *"deleted: "* ]]
    [ "$(ls "$site/index/roots" | wc -l)" -eq 1 ]
    run -0 agent variants prune
    [[ $output == *"nothing to prune"* ]]
}

@test "an index that cannot be written says so before anything is built" {
    [ "$(id --user)" -eq 0 ]
    echo x >"$site/index"
    run ! agent realise hpl --targets gfx90a
    [[ $output == *"$site/index"* ]]
    [ "$(grep -c ' -f ' "$site/calls")" -eq 0 ]
}
