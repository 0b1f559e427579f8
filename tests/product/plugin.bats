# What was built: the plugin as Slurm's daemons will load it. Needs neither root nor a node.

setup() { plugin=$AMD_GPU_BUILD/lib/amd_gpu.so; }

@test "the plugin exports Slurm's symbols and no others" {
    run nm -D --defined-only "$plugin"
    [ "$status" -eq 0 ]
    [ -z "$(awk '{print $NF}' <<<"$output" | grep -Ev '^(plugin_(name|type|version)|spank_plugin_version|slurm_spank_[a-z_]+)$')" ]
    for name in plugin_name plugin_type plugin_version spank_plugin_version slurm_spank_job_prolog slurm_spank_task_init; do
        grep -q " $name\$" <<<"$output"
    done
}

# case: SPK-2 SPK-7
@test "the plugin needs the C library and Slurm, nothing else" {
    run ldd "$plugin"
    [ "$status" -eq 0 ]
    [ -z "$(grep -Ev 'linux-vdso|/ld-linux|libc\.so\.6|libm\.so\.6' <<<"$output")" ]
    [ -z "$(nm -D --undefined-only "$plugin" | awk '{print $NF}' | grep -Ev '@|^(slurm_|spank_|_ITM_|__gmon_start__)')" ]
}

@test "the plugin is small enough to be loaded by every step" {
    strip -o "$BATS_TEST_TMPDIR/stripped" "$plugin"
    [ "$(stat --format=%s "$BATS_TEST_TMPDIR/stripped")" -lt 1000000 ]
}

@test "the shipped kernels hold the inner loops that their figures depend on" {
    bundle=$AMD_GPU_BUILD/kernels/kernels.hipfb
    [ -e "$bundle" ] || skip 'no compiler for amdgcn was found, so no kernels were built'
    run "$BATS_TEST_DIRNAME/../probes_isa" "$bundle"
    echo "$output"
    [ "$status" -eq 0 ]
}
