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
