# The programs that make variants for sites with Spack or EESSI, and the commands that run them. No GPU is looked at.

setup() {
    agent=$AMD_GPU_BUILD/bin/amd-gpu-agent
    top=$BATS_TEST_DIRNAME/../..
    # Whoever the programs run as must get at them.
    site=$(mktemp -d)
    chmod 755 "$site"
    mkdir "$site/environments.d" "$site/index"
    cp "$top"/etc/providers/* "$site"
    printf '[environment]\ndirectory = "%s/environments.d"\nindex = "%s/index"\n' "$site" "$site" >"$site/config.toml"
}
teardown() { rm -rf "$site"; }

# definition NAME PROGRAM ARGUMENT...: an environment of a site's program.
definition() {
    printf 'provider = "command"\n[command]\nprogram = "%s/%s"\narguments = [' "$site" "$2" >"$site/environments.d/$1.toml"
    printf '"%s", ' "${@:3}" >>"$site/environments.d/$1.toml"
    printf ']\n' >>"$site/environments.d/$1.toml"
}
spack_site() {
    install -m 755 "$BATS_TEST_DIRNAME/../fakes/spack" "$site/spack"
    mkdir "$site/apps"
    chmod 777 "$site/apps"
    : >"$site/calls"
    chmod 666 "$site/calls"
    printf 'spack:\n  specs: [hip, rocblas]\n  view: true\n  packages:\n    all:\n      variants: +rocm amdgpu_target=@TARGETS@\n' >"$site/rocm.yaml"
    definition rocm spack-view "$site/spack" "$site/rocm.yaml" "$site/apps"
}
# A tree of EESSI for one GPU whose init script sets up a `module` as Lmod's does.
eessi_site() {
    local root=$site/cvmfs place=$site/cvmfs/software/linux/x86_64/amd/zen3/accel/amd/gfx90a
    mkdir -p "$root/init/lmod" "$place/modules/all" "$place/software/rocBLAS/6.4.1/lib"
    cat >"$root/init/lmod/bash" <<'END'
[[ $EESSI_ACCELERATOR_TARGET_OVERRIDE =~ ^accel/(nvidia/cc[0-9]+|amd/gfx[0-9a-f]+)$ ]] || { echo "not understood: $EESSI_ACCELERATOR_TARGET_OVERRIDE"; exit 1; }
eessi_software=${BASH_SOURCE[0]%/init/*}/software/linux/$EESSI_SOFTWARE_SUBDIR_OVERRIDE/$EESSI_ACCELERATOR_TARGET_OVERRIDE/software
echo 'Module for EESSI loaded successfully'
module() {
    [[ $1 == load ]] || return 1
    [[ -d $eessi_software/$2 ]] || { echo "Lmod has detected the following error: The following module(s) are unknown: \"$2\"" >&2; return 1; }
    export LOADEDMODULES=$2 _ModuleTable001_=abc LMOD_CMD=/lmod MODULEPATH=/modules
    export EBROOTROCBLAS=$eessi_software/$2 PATH=$eessi_software/$2/bin:$PATH LIBRARY_PATH=$eessi_software/$2/lib
    export LD_PRELOAD=/lib/x.so CMAKE_PREFIX_PATH='/a "quoted" place'
}
END
    definition eessi eessi "$root" x86_64/amd/zen3 rocBLAS/6.4.1
}
realise() {
    timeout --kill-after=5 50 "$agent" --config "$site/config.toml" realise "$@"
}
record() {
    cat "$site"/index/v1/"$1"/*.json
}

@test "a view of Spack becomes a variant, and is made once" {
    spack_site
    run realise rocm --targets gfx90a,gfx90a:xnack- --plan --json
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(jq -r .need <<<"$output")" = build ]
    [ "$(jq .builds <<<"$output")" = 2 ]
    run realise rocm --targets gfx90a,gfx90a:xnack- --json
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(record rocm | jq -c .targets)" = '["gfx90a","gfx90a:xnack-"]' ]
    path=$(record rocm | jq -r .path)
    [ -d "$path/bin" ]
    [[ $path == "$site"/apps/rocm/gfx90a,gfx90a_xnack--*/.spack-env/._view/4sx2ah ]]
    [ "$(record rocm | jq -r .provenance.spack)" = '1.0.2 (4b7d0d8f2a)' ]
    grep -q 'amdgpu_target=gfx90a,gfx90a:xnack-$' "$site"/apps/rocm/*/spack.yaml
    : >"$site/calls"
    run realise rocm --targets gfx90a:xnack-,gfx90a --json
    [ "$status" -eq 0 ]
    [ ! -s "$site/calls" ]
}

@test "another template makes another view, and the old one goes when nobody can use it" {
    spack_site
    realise rocm --targets gfx90a
    first=$(record rocm | jq -r .path)
    echo '# newer' >>"$site/rocm.yaml"
    aged=$(echo "$site"/index/v1/rocm/*.json)
    made=$(jq '.created -= 60' "$aged")
    echo "$made" >"$aged"
    realise rocm --targets gfx90a
    [ "$(ls "$site/index/v1/rocm" | wc -l)" -eq 2 ]
    [ "$(ls "$site/apps/rocm" | wc -l)" -eq 2 ]
    run "$agent" --config "$site/config.toml" variants prune --index "$site/index" --older-than 30
    echo "$output"
    [ "$status" -eq 0 ]
    [ -d "$first" ]
    touch -d '40 days ago' "$site"/index/retired/rocm/*.json
    run "$agent" --config "$site/config.toml" variants prune --index "$site/index" --older-than 30
    echo "$output"
    [ "$status" -eq 0 ]
    [ ! -e "$first" ]
    [ -d "$(record rocm | jq -r .path)" ]
}

@test "Spack's view of what it cannot make is told before it starts" {
    spack_site
    run realise rocm --targets gfx9-4-generic
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'Spack knows processors'* ]]
    [ ! -s "$site/calls" ]
    echo concretize >"$site/fail"
    run realise rocm --targets gfx90a
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *"cannot satisfy a requirement for package 'hip'"* ]]
    [ ! -e "$site/index/v1/rocm" ]
}

@test "spack-view removes nothing that it did not make" {
    spack_site
    mkdir -p "$site/apps/rocm/gfx90a-0123" "$site/apps/precious"
    for path in "$site/apps/precious" "$site/apps/rocm" "$site/apps/rocm/.." "$site/apps/rocm/../precious/x" /; do
        run "$site/spack-view" "$site/spack" "$site/rocm.yaml" "$site/apps" release rocm gfx90a "$path"
        [ "$status" -eq 1 ]
    done
    run "$site/spack-view" "$site/spack" "$site/rocm.yaml" "$site/apps" release ../apps gfx90a "$site/apps/precious/x"
    [ "$status" -eq 1 ]
    [ -d "$site/apps/precious" ]
    [ -d "$site/apps/rocm/gfx90a-0123" ]
    "$site/spack-view" "$site/spack" "$site/rocm.yaml" "$site/apps" release rocm gfx90a "$site/apps/rocm/gfx90a-0123/view"
    [ ! -e "$site/apps/rocm/gfx90a-0123" ]
}

@test "what EESSI's modules change becomes the changes of a job" {
    eessi_site
    run realise eessi --targets gfx90a --json
    echo "$output"
    [ "$status" -eq 0 ]
    software=$site/cvmfs/software/linux/x86_64/amd/zen3/accel/amd/gfx90a/software/rocBLAS/6.4.1
    record eessi
    [ "$(record eessi | jq -r .path)" = "${software%/software/*/*}" ]
    [ "$(record eessi | jq .suggests_edits)" = false ]
    [ "$(record eessi | jq -r '.edits[]' | sort)" = "$(printf '%s\n' \
        'prepend CMAKE_PREFIX_PATH=/a "quoted" place' \
        "prepend LIBRARY_PATH=$software/lib" \
        "prepend PATH=$software/bin" \
        "set EBROOTROCBLAS=$software")" ]
}

@test "EESSI is asked only for what its scripts accept and what it has" {
    eessi_site
    for targets in gfx90a:xnack- gfx9-4-generic gfx90a,gfx942; do
        run realise eessi --targets "$targets"
        echo "$output"
        [ "$status" -eq 1 ]
        [[ $output == *'one processor at a time'* ]]
    done
    run realise eessi --targets gfx942
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *'EESSI has nothing in '*/accel/amd/gfx942* ]]
    definition eessi eessi "$site/cvmfs" x86_64/amd/zen3 rocFFT/6.4.1
    run realise eessi --targets gfx90a
    echo "$output"
    [ "$status" -ne 0 ]
    [[ $output == *'module(s) are unknown: "rocFFT/6.4.1"'* ]]
}
