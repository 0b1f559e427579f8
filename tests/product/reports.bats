# The list of public reports and the tests that cover them. Needs nothing built.

setup() { cd "$BATS_TEST_DIRNAME/../.."; }

# The cases of the table under a heading of the list; of all tables without one.
listed() {
    awk -v heading="${1-}" -F ' *\\| *' '
        /^## / { inside = heading == "" || $0 == "## " heading }
        inside && $3 ~ /^[A-Z]+-[0-9]+$/ { print $3 }' tests/REPORTS.md
}
# The cases that tests are tagged with.
tagged() {
    grep -rhoE '\[case:[A-Z]+-[0-9]+\]' tests/unit | sed 's/^\[case://; s/\]$//'
    grep -rhE --include='*.bats' '^# case: ' tests | grep -oE '[A-Z]+-[0-9]+'
}

@test "every report is listed once" {
    [ -n "$(listed Covered)" ]
    twice=$(listed | sort | uniq -d)
    echo "listed twice: $twice"
    [ -z "$twice" ]
}

@test "every report that is said to be covered has a test" {
    bare=$(comm -23 <(listed Covered | sort -u) <(tagged | sort -u))
    echo "no test has these cases: $bare"
    [ -z "$bare" ]
}

@test "every report that a test is tagged with is listed" {
    unknown=$(comm -13 <(listed | sort -u) <(tagged | sort -u))
    echo "not in REPORTS.md: $unknown"
    [ -z "$unknown" ]
}

@test "one of the files that a covered report names has a test of it" {
    while read -r case files; do
        for file in ${files//,/ }; do
            # A name may stand in more than one folder of tests.
            grep -qE "\\[case:$case\\]|^# case:.* $case( |\$)" $(find tests -name "$file") /dev/null && continue 2
        done
        echo "$case is not in $files"
        false
    done < <(awk -F ' *\\| *' '/^## / { inside = $0 == "## Covered" } inside && $3 ~ /^[A-Z]+-[0-9]+$/ { print $3, $6 }' tests/REPORTS.md)
}
