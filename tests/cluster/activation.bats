# cluster: --nodes 1
# An environment inside the job: what else the user has in the environment must not get in its way, and must not be lost.

setup() {
    load helpers
    clean_cluster
    make_environment fake environment
    make_rocm /mnt/work/rocm-5.7.1 other
}

# make_library DIRECTORY NAME TEXT: a library with that soname whose function gives a text.
make_library() {
    mkdir -p "$1"
    echo "extern \"C\" const char* who() { return \"$3\"; }" | g++ -shared -fPIC -x c++ -Wl,-soname,"$2" -o "$1/$2" -
    ln -sf "$2" "$1/${2%.so*}.so"
}

make_rocm() { make_library "$1/lib" libamdhip64.so.6 "$2"; }

# make_environment NAME TEXT: an environment of the site's with a HIP runtime in it, at /mnt/work/envs/NAME.
make_environment() {
    make_rocm "/mnt/work/envs/$1/gfx90a" "$2"
    mkdir -p "/mnt/work/envs/$1/gfx90a/bin"
    printf 'path = "/mnt/work/envs/%s/{target}"\n' "$1" >"/mnt/etc/amd-gpu/environments.d/$1.toml"
}

# make_program FILE FLAG...: a program that prints whose HIP runtime it got.
make_program() {
    local file=$1
    shift
    echo '#include <stdio.h>
        const char* who(void);
        int main(void) { printf("runtime of the %s\n", who()); }' |
        gcc -x c -o "$file" - -L/mnt/work/envs/fake/gfx90a/lib -lamdhip64 "$@"
}

in_job() { as_user srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake"$option" "$@"; }

# case: VER-2
@test "another ROCm in LD_LIBRARY_PATH gives way to the environment's, and everything else stays" {
    make_program /mnt/work/program
    run as_user env LD_LIBRARY_PATH=/mnt/work/rocm-5.7.1/lib /mnt/work/program
    [ "$output" = 'runtime of the other' ]
    export LD_LIBRARY_PATH=/mnt/work/rocm-5.7.1/lib:/opt/cray/lib
    run in_job /mnt/work/program
    echo "$output"
    [ "$output" = 'runtime of the environment' ]
    run in_job sh -c 'echo "$LD_LIBRARY_PATH"'
    echo "$output"
    [ "$output" = /mnt/work/envs/fake/gfx90a/lib:/mnt/work/rocm-5.7.1/lib:/opt/cray/lib ]
}

# case: VER-2
@test "software that is found by run paths is not overruled by another ROCm in LD_LIBRARY_PATH" {
    echo 'replace_defaults = true' >/mnt/work/envs/fake/gfx90a/activate.toml
    make_program /mnt/work/program -Wl,-rpath,/mnt/work/envs/fake/gfx90a/lib
    export LD_LIBRARY_PATH=/mnt/work/rocm-5.7.1/lib:/opt/cray/lib
    run in_job sh -c 'echo "$LD_LIBRARY_PATH"; /mnt/work/program'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = /opt/cray/lib ]
    [ "${lines[1]}" = 'runtime of the environment' ]
    option=,verbose run in_job true
    [[ $output == *'LD_LIBRARY_PATH before: /mnt/work/rocm-5.7.1/lib:/opt/cray/lib'* ]]
    [[ $output == *'LD_LIBRARY_PATH after:  /opt/cray/lib'* ]]
}

# case: VER-2
@test "a program that would load another ROCm ends with a line that says which, from where and why" {
    make_program /mnt/work/program -Wl,--disable-new-dtags,-rpath,/mnt/work/rocm-5.7.1/lib
    mkdir /mnt/work/own && cp /mnt/work/program /mnt/work/own/
    run as_user srun --quiet -N1 -n4 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake /mnt/work/own/program
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output != *'runtime of'* ]]
    [ "$(grep -c 'amd-gpu: n0: .*libamdhip64.so.6 from /mnt/work/rocm-5.7.1/lib/.*RPATH of .*/own/program' <<<"$output")" -eq 1 ]
    nodes_in_service
}

# case: VER-3
@test "another libstdc++ than the environment's is a warning that names who asks for it" {
    make_library /mnt/work/envs/fake/gfx90a/lib libstdc++.so.6 environment
    echo 'replace_defaults = true' >/mnt/work/envs/fake/gfx90a/activate.toml
    mkdir /mnt/work/own
    ln -s /mnt/work/envs/fake/gfx90a/lib/libamdhip64.so.6 /mnt/work/own/
    g++ -shared -Wl,--no-as-needed,-soname,libasks.so -o /mnt/work/own/libasks.so -lstdc++
    make_program /mnt/work/program -Wl,-rpath,/mnt/work/own -Wl,--no-as-needed -L/mnt/work/own -lasks
    run in_job /mnt/work/program
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'libstdc++.so.6 from /'*'first asked for by /mnt/work/own/libasks.so'* ]]
    [[ $output == *'runtime of the environment'* ]]
}

@test "scripts, static programs and programs without a GPU library run as they are" {
    printf '#!/bin/sh\necho script\n' >/mnt/work/script && chmod +x /mnt/work/script
    echo 'int main() { return 7; }' | g++ -static -x c++ -o /mnt/work/static -
    run in_job /mnt/work/script
    [ "$output" = script ]
    run in_job /mnt/work/static
    [ "$status" -eq 7 ]
    run in_job hostname
    [ "$status" -eq 0 ]
}

caches_of() { ls -A "/mnt/nodes/${1:-n0}/caches"; }
no_caches() { [ -z "$(caches_of)" ]; }

# case: ENV-1
# case: ENV-2
@test "a job's caches are its user's alone on this node, the same for all its tasks, and gone with it" {
    run in_job -n8 sh -c 'echo "$MIOPEN_USER_DB_PATH $MIOPEN_CUSTOM_CACHE_DIR $AMD_COMGR_CACHE_DIR"
        stat --format="%U %a" "${MIOPEN_USER_DB_PATH%/*/*}" "$MIOPEN_USER_DB_PATH"; touch "$AMD_COMGR_CACHE_DIR/$SLURM_PROCID"'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(sort -u <<<"$output" | wc -l)" -eq 2 ]
    grep -Eq '^/mnt/nodes/n0/caches/[0-9]+/[0-9a-f]{64}/miopen ' <<<"$output"
    [ "$(grep -c '^nobody 700$' <<<"$output")" -eq 16 ]
    within 10 no_caches
    [ "$(stat --format='%U %a' /mnt/nodes/n0/caches)" = 'root 711' ]
}

# case: ENV-1
@test "a user's own place for caches wins, and off makes none" {
    run as_user env MIOPEN_USER_DB_PATH=/mnt/work/mine srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake \
        sh -c 'echo "$MIOPEN_USER_DB_PATH $AMD_COMGR_CACHE_DIR"'
    [[ $output == '/mnt/work/mine /mnt/nodes/n0/caches/'* ]]
    run as_user srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off sh -c 'echo "${MIOPEN_USER_DB_PATH-none}"'
    [ "$output" = none ]
}

@test "whatever a user leaves in a cache is removed, and nothing beyond it" {
    mkdir /mnt/work/precious && touch /mnt/work/precious/file && chown -R nobody /mnt/work/precious
    cat >/mnt/work/hostile <<'TEXT'
#!/bin/bash
cd "$AMD_COMGR_CACHE_DIR" || exit 1
ln -s /mnt/work/precious link
ln -s /mnt/work/precious ../../zzz
mkdir closed && touch closed/file && chmod 000 closed
mkdir .moved-0 && touch .moved-0/x $'new\nline' ./-rf
for ((i = 0; i < 400; i++)); do mkdir deep-deep-deep && cd deep-deep-deep || exit 1; done
touch bottom
chmod 000 ../../..
TEXT
    chmod +x /mnt/work/hostile
    run in_job /mnt/work/hostile
    [ "$status" -eq 0 ]
    within 20 no_caches
    [ -e /mnt/work/precious/file ]
}

@test "caches that a killed agent could not remove are removed at its next start, and those of running jobs stay" {
    as_user srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake \
        sh -c 'echo "$MIOPEN_USER_DB_PATH" >/mnt/work/begun; sleep 20' &
    within 20 test -s /mnt/work/begun
    mkdir -p /mnt/nodes/n0/caches/4000000/key && chown -R nobody /mnt/nodes/n0/caches/4000000
    touch /mnt/nodes/n0/caches/notes
    restart-agent n0
    within 10 test ! -e /mnt/nodes/n0/caches/4000000
    [ -d "$(</mnt/work/begun)" ]
    [ -e /mnt/nodes/n0/caches/notes ]
    rm /mnt/nodes/n0/caches/notes
    timeout 10 scancel --user=nobody
    within 20 no_caches
}

@test "a directory of somebody else's in a cache's place is not used" {
    job=$(as_user salloc --quiet -N1 --gpus-per-node=1 sh -c 'echo $SLURM_JOB_ID')
    mkdir "/mnt/nodes/n0/caches/$((job + 1))" && chown daemon "/mnt/nodes/n0/caches/$((job + 1))"
    run in_job sh -c 'echo "${MIOPEN_USER_DB_PATH-none}"'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'belongs to another user'*none* ]]
}

# case: ENV-3
@test "a TMPDIR that will make trouble is told in one line" {
    run as_user env TMPDIR=/nowhere srun --quiet -N1 -n2 --gpus-per-node=1 --amd-gpu=auto,probe=off true
    [ "$status" -eq 0 ]
    [ "$(grep -c 'TMPDIR=/nowhere is no directory' <<<"$output")" -eq 1 ]
    run as_user env TMPDIR=/dev/shm srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off true
    [[ $output == *TMPDIR=/dev/shm* ]]
    run as_user env TMPDIR=/mnt/tmp srun --quiet -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off true
    [ -z "$output" ]
}

# variables COUNT BYTES: an activate.toml that sets so many variables of so many bytes.
variables() {
    local value i
    value=$(head -c "$2" /dev/zero | tr '\0' x)
    for ((i = 0; i < $1; i++)); do echo "FAKE_VARIABLE_$i = \"$value\""; done | { echo '[set]'; cat; }
}

@test "three hundred variables of 100 kB in all arrive" {
    variables 300 340 >/mnt/work/envs/fake/gfx90a/activate.toml
    run in_job sh -c 'env | grep -c "^FAKE_VARIABLE_[0-9]*=x\{340\}$"'
    [ "$output" = 300 ]
}

@test "an environment too large for exec is a clear line and not a silent failure" {
    for i in {0..17}; do export "MINE_$i=$(head -c 100000 /dev/zero | tr '\0' y)"; done
    variables 3 120000 >/mnt/work/envs/fake/gfx90a/activate.toml
    # A user who has a larger stack has more room.
    ulimit -S -s 16384
    run in_job sh -c 'echo "${#MINE_17}"'
    [ "$output" = 100000 ]
    ulimit -S -s 8192
    run in_job true
    echo "${output:0:500}"
    [ "$status" -ne 0 ]
    [[ $output == *'amd-gpu: n0: the environment and the arguments of this task take '* ]]
    [[ $output != *'execve'* ]]
}

# case: SPK-8
@test "the environment reaches tasks whatever --export keeps from them" {
    for export in NONE MINE=1 ALL,MINE=1 NIL; do
        run as_user srun --quiet --export="$export" -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake \
            /bin/sh -c 'echo "$SLURM_AMD_GPU_ENVIRONMENT ${ROCR_VISIBLE_DEVICES:+masked} $PATH"'
        echo "$export: $output"
        [ "$status" -eq 0 ]
        [[ $output == 'fake masked /mnt/work/envs/fake/gfx90a/bin:/'* ]]
        [[ $output != *::* && $output != *: ]]
    done
    # SLURM_EXPORT_ENV of a batch script
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake --output=/mnt/work/out --export=NONE
srun /bin/sh -c 'echo "$SLURM_AMD_GPU_ENVIRONMENT ${ROCR_VISIBLE_DEVICES:+masked} $PATH"'
TEXT
    as_user sbatch --wait /mnt/work/job
    cat /mnt/work/out
    grep -q '^fake masked /mnt/work/envs/fake/gfx90a/bin:/' /mnt/work/out
}

# case: SPK-10
@test "steps within a step's environment prepend nothing twice, mix nothing, and off adds nothing" {
    make_environment other second
    cat >/mnt/work/job <<'TEXT'
#!/bin/bash
#SBATCH -N1 -n1 --gpus-per-node=1 --amd-gpu=auto,probe=off,env=fake --output=/mnt/work/out
show='echo "$SLURM_AMD_GPU_ENVIRONMENT $PATH $LD_LIBRARY_PATH"'
sh -c "$show"
srun sh -c "$show"
srun --amd-gpu=auto,probe=off,env=fake sh -c "$show"
srun --amd-gpu=auto,probe=off,env=other sh -c "$show"
srun --amd-gpu=off sh -c "$show"
TEXT
    as_user env PATH=/mine:/usr/bin:/bin LD_LIBRARY_PATH=/mine/lib sbatch --wait /mnt/work/job
    cat /mnt/work/out
    mapfile -t lines </mnt/work/out
    fake="fake /mnt/work/envs/fake/gfx90a/bin:/mine:/usr/bin:/bin /mnt/work/envs/fake/gfx90a/lib:/mine/lib"
    for i in 0 1 2 4; do [ "${lines[i]}" = "$fake" ]; done
    [ "${lines[3]}" = "${fake//fake/other}" ]
}

@test "a step inside salloc activates for itself" {
    run as_user salloc --quiet -N1 --gpus-per-node=1 sh -c '
        echo "outside ${SLURM_AMD_GPU_ENVIRONMENT-none}"
        srun --quiet --amd-gpu=auto,probe=off,env=fake sh -c "echo inside \$SLURM_AMD_GPU_ENVIRONMENT \$MIOPEN_USER_DB_PATH"
        srun --quiet sh -c "echo beside \${SLURM_AMD_GPU_ENVIRONMENT-none}"'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *'outside none'*'inside fake /mnt/nodes/n0/caches/'*'beside none'* ]]
    within 20 no_caches
}
