# What is written: rules for the product's source that a compiler does not know. Needs nothing built.

setup() { cd "$BATS_TEST_DIRNAME/../.."; }

@test "no product file knows of the simulated node" {
    [ -d spank ] && [ -d agent ] && [ -d probes ] && [ -d etc ]
    run grep -rniEw 'simulated|simulator|simulation|amd-gpu-sim|sim|fake' spank agent probes etc
    [ "$status" -eq 1 ]
}

@test "nothing in the product runs a shell" {
    run grep -rnE '(^|[^a-z_:.>])(std::)?(system|popen)\(' --include=*.cpp --include=*.hpp spank agent probes
    [ "$status" -eq 1 ]
}

@test "no source file is longer than 400 lines" {
    long=$(find spank agent probes tests -name '*.[ch]pp' -exec wc -l {} + | awk '$1 > 400 && $2 != "total"')
    echo "$long"
    [ -z "$long" ]
}

@test "every source file begins with what it is" {
    bare=$(find spank agent probes tests/sim tests/demo -name '*.hpp' -exec awk 'FNR == 1 && !/^\/\// { print FILENAME }' {} +)
    echo "$bare"
    [ -z "$bare" ]
}

@test "shell scripts pass shellcheck" {
    command -v shellcheck >/dev/null || skip 'shellcheck is not installed'
    shellcheck --external-sources --source-path=. tests/run .ci/run tests/cluster/{with-cluster,inside,*.bash} tests/cluster/bin/* \
        tests/demo/{demo,scenes} tests/fakes/spack etc/providers/* tests/bench/{bench,compare.bash,many-variables,measure,measure-discovery,mirror,time-in-shell}
}
